module github.com/llmsim/llmsim/tests/mutation

go 1.26.8

package sim

import "testing"

// An encoder and its link are two queues in a row: of requests that come at once, the slower of the
// two sets the pace after the first. Two encoders take turns, and a request without anything to
// encode passes by.
func TestEncodersAreTandemQueues(t *testing.T) {
	for _, c := range []struct{ work, send Time }{{5, 2}, {2, 5}, {3, 3}, {0, 4}, {4, 0}} {
		for number := range 3 {
			number++
			e := newEncoding(&Encoders{Number: number,
				Work: func(r *Request) (encode, send Time) {
					if r.Prompt == 0 {
						return 0, 0
					}
					return c.work, c.send
				}})
			for k := range 12 {
				before := Time(k / number) // on the same encoder
				want := 100 + c.work + c.send + before*max(c.work, c.send)
				sent, work := e.encode(&Request{Prompt: 1}, 100)
				if c.work > 0 && (sent != want || work != c.work) {
					t.Errorf("request %d of %+v on %d encoders is sent at %d, want %d", k, c,
						number, sent, want)
				}
				if sent, work := e.encode(&Request{}, 100); sent != 100 || work != 0 {
					t.Errorf("a text is sent at %d after work of %d", sent, work)
				}
			}
			if sent, _ := e.encode(&Request{Prompt: 1}, 1000); sent != 1000+c.work+c.send {
				t.Errorf("an idle encoder sends %+v at %d", c, sent)
			}
		}
	}
}

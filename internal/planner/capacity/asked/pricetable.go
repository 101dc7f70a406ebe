package asked

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// fromCSV writes a table of offers as a price file in YAML. The columns are known keys of an offer.
// Each offer keeps its line, so that errors name the table's line.
func fromCSV(name string, data []byte, known []string) ([]byte, error) {
	rows, err := files.Rows(name, data, known)
	if err != nil {
		return nil, err
	}
	line := rows[0].Line
	out := bytes.NewBuffer(bytes.Repeat([]byte("\n"), line-1))
	out.WriteString("offers:")
	for _, row := range rows[1:] {
		cells, err := cellsOf(rows[0].Cells, row.Cells)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, row.Line, err)
		}
		out.WriteString(strings.Repeat("\n", row.Line-line) + "- {" +
			strings.Join(cells, ", ") + "}")
		line = row.Line
	}
	return out.Bytes(), nil
}

// cellsOf writes the cells of a row that are not empty as keys with values.
func cellsOf(header, row []string) ([]string, error) {
	var cells []string
	for i, cell := range row {
		switch {
		case strings.ContainsAny(cell, "\r\n"):
			return nil, fmt.Errorf("%s: found %q; want one line", header[i], cell)
		case cell == "":
		default:
			value := cell
			if _, err := strconv.ParseFloat(cell, 64); err != nil {
				text, err := json.Marshal(cell)
				if err != nil {
					return nil, err
				}
				value = string(text)
			}
			cells = append(cells, header[i]+": "+value)
		}
	}
	return cells, nil
}

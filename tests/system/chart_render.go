// SPDX-License-Identifier: Apache-2.0

// What `helm template` makes of a chart, with the few functions of Helm's that ours uses:
// chart_render CHART VALUES.json
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

type files struct{ dir string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	must(err)
	return string(text)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

func main() {
	chart := os.Args[1]
	text, err := os.ReadFile(os.Args[2])
	must(err)
	var values map[string]interface{}
	must(json.Unmarshal(text, &values))
	root := map[string]interface{}{
		"Values":   values,
		"Files":    files{chart},
		"Template": map[string]interface{}{"BasePath": "assay/templates"},
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"default": func(otherwise, value string) string {
			if value == "" {
				return otherwise
			}
			return value
		},
		"indent":     indent,
		"trimSuffix": func(end, text string) string { return strings.TrimSuffix(text, end) },
		"replace":    func(old, new, text string) string { return strings.ReplaceAll(text, old, new) },
		"sha256sum":  func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"include": func(name string, data interface{}) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	})
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(err)
		_, err = all.New("assay/templates/" + filepath.Base(path)).Parse(string(text))
		must(err)
	}
	for _, path := range paths {
		fmt.Println("---")
		must(all.ExecuteTemplate(os.Stdout, "assay/templates/"+filepath.Base(path), root))
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ostler/go-templates/resources"
)

// renderRequest is a phase of a profile and what its templates may see.
type renderRequest struct {
	ID string `json:"id"`
	phase
	Data json.RawMessage `json:"data"`
	// MaxBytes is how much text all files together may have.
	MaxBytes int `json:"maxBytes"`
}

// renderAnswer has texts in the order of the files, or a fault and the file to blame, if it is one.
type renderAnswer struct {
	ID    string   `json:"id"`
	Texts []string `json:"texts,omitzero"`
	Fault string   `json:"fault,omitempty"`
	File  string   `json:"file,omitempty"`
}

func answerTo(line []byte) []byte {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(rendered(line)); err != nil {
		panic(err)
	}
	return written.Bytes()
}

func rendered(line []byte) (answer renderAnswer) {
	defer func() {
		if reason := recover(); reason != nil {
			answer.Fault = fmt.Sprintf("the engine could not go on: %v", reason)
		}
	}()
	var asked renderRequest
	if err := json.Unmarshal(line, &asked); err != nil {
		panic(err)
	}
	answer.ID = asked.ID
	data, err := resources.Decode(asked.Data)
	if err == nil {
		answer.Texts, err = asked.phase.render(data, asked.MaxBytes)
	}
	if err != nil {
		answer.Fault = err.Error()
	}
	if at, ok := err.(fileFault); ok {
		answer.File = at.path
	}
	return answer
}

// Package json replaces github.com/ajeddeloh/go-json, which Ignition 0.35 imports but not every module proxy still serves:
// it is encoding/json with Node, a value with its position in the text.
package json

import (
	"bytes"
	"encoding/json"
)

type (
	SyntaxError        = json.SyntaxError
	UnmarshalTypeError = json.UnmarshalTypeError
)

var Marshal = json.Marshal

// Node is a value with its position in the text, in bytes; a value in an object also has the position of its key.
type Node struct {
	Start, End       int
	KeyStart, KeyEnd int
	// For an object map[string]Node, for an array []Node.
	Value any
}

// Unmarshal is json.Unmarshal, but stores positions too if into is a *Node.
func Unmarshal(text []byte, into any) error {
	node, isNode := into.(*Node)
	if !isNode {
		return json.Unmarshal(text, into)
	}
	reader := &nodeReader{json.NewDecoder(bytes.NewReader(text))}
	read, err := reader.value()
	if err == nil {
		*node = read
	}
	return err
}

type nodeReader struct{ *json.Decoder }

func (reader *nodeReader) value() (Node, error) {
	token, err := reader.Token()
	if err != nil {
		return Node{}, err
	}
	node := Node{Start: int(reader.InputOffset()), Value: token}
	switch token {
	case json.Delim('{'):
		node.Value, err = reader.object()
	case json.Delim('['):
		node.Value, err = reader.array()
	}
	node.End = int(reader.InputOffset())
	return node, err
}

func (reader *nodeReader) object() (map[string]Node, error) {
	fields := map[string]Node{}
	for reader.More() {
		key, err := reader.Token()
		if err != nil {
			return nil, err
		}
		keyEnd := int(reader.InputOffset())
		field, err := reader.value()
		if err != nil {
			return nil, err
		}
		name := key.(string)
		field.KeyStart, field.KeyEnd = keyEnd-len(name)-2, keyEnd
		fields[name] = field
	}
	_, err := reader.Token()
	return fields, err
}

func (reader *nodeReader) array() ([]Node, error) {
	items := []Node{}
	for reader.More() {
		item, err := reader.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := reader.Token()
	return items, err
}

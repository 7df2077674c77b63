// Package json stands in for github.com/ajeddeloh/go-json, which Ignition 0.35 was written with and which is no longer
// served everywhere: encoding/json, and Node, which tells where in the text each value stands.
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

// Node is a value with its place in the text: offsets of bytes, the key's only in an object.
type Node struct {
	Start, End       int
	KeyStart, KeyEnd int
	// Of an object map[string]Node, of an array []Node.
	Value any
}

// Unmarshal is encoding/json's, save that a *Node takes the value with its places.
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

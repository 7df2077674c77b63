package main

import (
	"container/list"
	"text/template"
)

// templateCache keeps the parsed templates that were used last. Its keys are their sources, so it need not be told that
// a profile has changed.
type templateCache struct {
	most  int
	order *list.List
	byKey map[string]*list.Element
}

type keptTemplate struct {
	key    string
	parsed *template.Template
}

var kept = templateCache{most: 512, order: list.New(), byKey: map[string]*list.Element{}}

func (c *templateCache) parse(name, source string) (*template.Template, error) {
	key := name + "\x00" + source
	if element, found := c.byKey[key]; found {
		c.order.MoveToFront(element)
		return element.Value.(keptTemplate).parsed, nil
	}
	parsed, err := template.New(name).Funcs(functionsIn(source)).Parse(source)
	if err != nil {
		return nil, err
	}
	c.byKey[key] = c.order.PushFront(keptTemplate{key, parsed})
	if c.order.Len() > c.most {
		delete(c.byKey, c.order.Remove(c.order.Back()).(keptTemplate).key)
	}
	return parsed, nil
}

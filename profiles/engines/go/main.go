// Renders Go templates inside WebAssembly, out of reach of files, network, environment, clock and chance.
// The host calls accept(size), writes the JSON of a request where that points, calls render(), and reads as many bytes
// of JSON from answer(). One call at a time.
package main

import (
	"runtime/debug"
	"unsafe"
)

var request, response []byte

func main() {}

func init() {
	// Sweep rather than grow, well before the host refuses more memory.
	debug.SetMemoryLimit(64 << 20)
}

//go:wasmexport accept
func accept(size uint32) unsafe.Pointer {
	request = make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(request))
}

//go:wasmexport render
func render() uint32 {
	response = answerTo(request)
	request = nil
	return uint32(len(response))
}

//go:wasmexport answer
func answer() unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(response))
}

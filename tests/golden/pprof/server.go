// SPDX-License-Identifier: MIT
// Writes its own heap profile: 101 blocks of 64 bytes and 13 of 8192 stay, 29 of 1024 go.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var keep [][]byte

//go:noinline
func leakSmall() { keep = append(keep, make([]byte, 64)) }

//go:noinline
func leakLarge() { keep = append(keep, make([]byte, 8192)) }

//go:noinline
func scratch() int { b := make([]byte, 1024); sink = b; return len(b) }

var sink []byte

func main() {
	runtime.MemProfileRate = 1
	keep = make([][]byte, 0, 128)
	for i := 0; i < 101; i++ {
		leakSmall()
	}
	for i := 0; i < 13; i++ {
		leakLarge()
	}
	for i := 0; i < 29; i++ {
		scratch()
	}
	sink = nil
	runtime.GC()
	f, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	f, _ = os.Create(os.Args[2])
	pprof.Lookup("allocs").WriteTo(f, 0)
	f.Close()
	f, _ = os.Create(os.Args[3])
	pprof.StartCPUProfile(f)
	for i := 0; i < 30000000; i++ {
		sink = nil
	}
	pprof.StopCPUProfile()
	f.Close()
}

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
)

func init() { judges["kubelet-flags"] = judgeFlags }

// judgeFlags parses the arguments of a kubelet, separated by white space, like kubelet 1.36.
func judgeFlags(path string) []finding {
	text, err := os.ReadFile(path)
	if err != nil {
		return fault(err)
	}
	if err := parseFlags(strings.Fields(string(text))); err != nil {
		return fault(err)
	}
	return nil
}

func parseFlags(words []string) error {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags := options.NewKubeletFlags()
	flags.AddFlags(set)
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return err
	}
	options.AddKubeletConfigFlags(set, config)
	if err := set.Parse(words); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("these arguments are not flags: %s", strings.Join(set.Args(), " "))
	}
	return options.ValidateKubeletFlags(flags)
}

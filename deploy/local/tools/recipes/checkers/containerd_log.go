package main

import (
	"context"
	"fmt"
	"io"

	"github.com/containerd/log"
	"github.com/sirupsen/logrus"
)

// faultLog collects warnings and errors as a hook of logrus, because containerd only logs many faults of a file.
type faultLog struct{ findings []finding }

func (faults *faultLog) Levels() []logrus.Level {
	return []logrus.Level{logrus.PanicLevel, logrus.FatalLevel, logrus.ErrorLevel, logrus.WarnLevel}
}

func (faults *faultLog) Fire(entry *logrus.Entry) error {
	found := finding{Message: entry.Message}
	for _, name := range []string{"plugin", "key", "error"} {
		if value, isThere := entry.Data[name]; isThere {
			found.Message += fmt.Sprintf(", %s %v", name, value)
		}
	}
	if row, isNumber := entry.Data["row"].(int); isNumber {
		found.Line = row
	}
	faults.findings = append(faults.findings, found)
	return nil
}

func (faults *faultLog) add(err error) {
	if err != nil {
		faults.findings = append(faults.findings, fault(err)...)
	}
}

// withFaultLog returns a context, and the log to which containerd's code writes when it is called with that context.
func withFaultLog() (context.Context, *faultLog) {
	faults := &faultLog{}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.AddHook(faults)
	return log.WithLogger(context.Background(), logrus.NewEntry(logger)), faults
}

// Command pod-server answers HTTP requests with its hostname. After SIGTERM or SIGINT its readiness fails, and it still answers for
// the drain time, because clients are routed to it until its endpoint is removed everywhere. Environment variables with
// defaults: PORT (8080), READINESS_PATH (/ready), DRAIN_TIME (5s).
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	if err := run(); err != nil {
		log.Fatalf("Failed to serve: %v", err)
	}
}

func run() error {
	drainTime, err := time.ParseDuration(setting("DRAIN_TIME", "5s"))
	if err != nil {
		return fmt.Errorf("invalid DRAIN_TIME: %w", err)
	}
	var draining atomic.Bool
	server := &http.Server{Addr: ":" + setting("PORT", "8080"), Handler: pages(&draining)}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	log.Printf("Serving on %s", server.Addr)
	select {
	case err := <-ended:
		return err
	case <-told:
	}
	draining.Store(true)
	// On a kept connection, a request could arrive after the server has stopped.
	server.SetKeepAlivesEnabled(false)
	log.Printf("Stopping after a drain time of %s", drainTime)
	return leave(server, drainTime, ended)
}

func leave(server *http.Server, drainTime time.Duration, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(drainTime):
	}
	// Shutdown accepts no new connection, and waits for requests in progress.
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	log.Print("Stopped")
	return nil
}

func pages(draining *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(setting("READINESS_PATH", "/ready"), func(answer http.ResponseWriter, _ *http.Request) {
		if draining.Load() {
			http.Error(answer, "draining", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(answer, "ready")
	})
	mux.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		name, err := os.Hostname()
		if err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(answer, name)
	})
	return mux
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

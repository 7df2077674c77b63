package main

import (
	cryptorand "crypto/rand"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"
)

// chance stands beneath all that is random in templates. A machine's config must not change by itself, so chance starts
// from the template's name, the MachineDeployment and a seed. Who does not know the seed cannot guess what comes of it.
var chance chanceReader

type chanceReader struct{ source *rand.ChaCha8 }

func (c *chanceReader) Read(bytes []byte) (int, error) { return c.source.Read(bytes) }

var _ io.Reader = &chance

func init() {
	restartChance()
	cryptorand.Reader = &chance
	uuid.SetRand(&chance)
}

// restartChance makes the random functions start from the beginning.
func restartChance(origins ...string) {
	chance.source = rand.NewChaCha8(sha256.Sum256([]byte(strings.Join(origins, "\x00"))))
}

func chanceBytes(count int) []byte {
	bytes := make([]byte, count)
	chance.source.Read(bytes)
	return bytes
}

// randInt and shuffle are those of sprig, which takes them from a generator with few seeds.
func randInt(least, end int) int {
	return least + rand.New(chance.source).IntN(end-least)
}

func shuffle(text string) string {
	letters := []rune(text)
	rand.New(chance.source).Shuffle(len(letters), func(i, j int) {
		letters[i], letters[j] = letters[j], letters[i]
	})
	return string(letters)
}

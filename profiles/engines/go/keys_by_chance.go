package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// Sprig takes 4096, for which two primes may take WebAssembly longer than a template has.
const rsaBits = 2048

// genPrivateKey gives what that of sprig gives. Go's own generators would not make the same key again: they add chance
// to whatever they read.
func genPrivateKey(kind string) (string, error) {
	switch kind {
	case "", "rsa":
		return inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey(rsaBits))), nil
	case "ecdsa":
		der, err := x509.MarshalECPrivateKey(ecdsaKey())
		return inPEM("EC PRIVATE KEY", der), err
	case "ed25519":
		der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(chanceBytes(ed25519.SeedSize)))
		return inPEM("PRIVATE KEY", der), err
	case "dsa":
		return "", errors.New("DSA keys are not made any more: take \"ed25519\", \"ecdsa\" or \"rsa\"")
	}
	return "Unknown type " + kind, nil
}

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func ecdsaKey() *ecdsa.PrivateKey {
	for {
		// Fails for what is no scalar of the curve, once in four billion times.
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), chanceBytes(32)); err == nil {
			return key
		}
	}
}

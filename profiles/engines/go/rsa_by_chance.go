package main

import (
	"crypto/rsa"
	"math/big"
)

const publicExponent = 65537

var one = big.NewInt(1)

// rsaKey makes a key of two primes.
func rsaKey(bits int) *rsa.PrivateKey {
	for {
		p, q := prime(bits/2), prime(bits/2)
		totient := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		exponent := new(big.Int).ModInverse(big.NewInt(publicExponent), totient)
		if exponent == nil || p.Cmp(q) == 0 {
			continue
		}
		public := rsa.PublicKey{N: new(big.Int).Mul(p, q), E: publicExponent}
		return &rsa.PrivateKey{PublicKey: public, D: exponent, Primes: []*big.Int{p, q}}
	}
}

// prime gives the first one from a number of chance on. Its two highest bits are set, so that the product of two such
// primes has all its bits.
func prime(bits int) *big.Int {
	bytes := chanceBytes(bits / 8)
	bytes[0] |= 0b1100_0000
	bytes[len(bytes)-1] |= 1
	start := new(big.Int).SetBytes(bytes)
	divides := smallDivisors(start)
	for distance := uint64(0); ; distance += 2 {
		if divides(distance) {
			continue
		}
		candidate := new(big.Int).Add(start, new(big.Int).SetUint64(distance))
		// Go takes the bases of this test from the number itself.
		if candidate.ProbablyPrime(20) {
			return candidate
		}
	}
}

// smallDivisors tells whether a small prime divides what lies at a distance from the start: far cheaper than a test.
func smallDivisors(start *big.Int) func(distance uint64) bool {
	remainders := make([]uint64, len(smallPrimes))
	for i, small := range smallPrimes {
		remainders[i] = new(big.Int).Mod(start, new(big.Int).SetUint64(small)).Uint64()
	}
	return func(distance uint64) bool {
		for i, small := range smallPrimes {
			if (remainders[i]+distance)%small == 0 {
				return true
			}
		}
		return false
	}
}

var smallPrimes = oddPrimesBelow(1 << 13)

// oddPrimesBelow sieves, as it is waited for whenever the program starts.
func oddPrimesBelow(end uint64) []uint64 {
	var primes []uint64
	isComposite := make([]bool, end)
	for n := uint64(3); n < end; n += 2 {
		if isComposite[n] {
			continue
		}
		primes = append(primes, n)
		for multiple := n * n; multiple < end; multiple += 2 * n {
			isComposite[multiple] = true
		}
	}
	return primes
}

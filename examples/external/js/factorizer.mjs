/** Factorizer, an agent in JavaScript: it factorizes numbers, and delegates the check of the factors to an agent of the node. */

import { Rejected } from "ribosome-client";

const SCHEMA = {
  type: "object",
  properties: { n: { type: "string", pattern: "^[0-9]{1,24}$", description: "a whole number above 1" } },
  required: ["n"],
};

/**
 * Gives an agent its task, and returns it.
 *
 * @template {import("ribosome-client").Agent} A
 * @param {A} agent
 * @param {string} [arithmetic] the agent that tests numbers for primality
 * @returns {A}
 */
export function factorizer(agent, arithmetic = "Arithmetic") {
  const about = { description: "Factorizes a whole number above 1 into primes.", schema: SCHEMA };
  return agent.task("prime_factors", about, async ({ parameters: { n }, signal, progress }) => {
    if (!/^[0-9]{1,24}$/.test(n) || BigInt(n) < 2n) throw new Rejected("invalid_payload_structure", "n: want a whole number above 1");
    const factors = await factorize(BigInt(n), signal);
    progress(50, `${factors.length} factors are found`);
    const numbers = [...new Set(factors)].map(String);
    const { details: { primes } } = await agent.delegate(arithmetic, "is_prime", { numbers }, {
      signal,
      progress: ({ percent, text }) => progress(50 + percent / 2, text),
    });
    const wrong = numbers.filter((number) => !primes.includes(number));
    if (wrong.length > 0) throw new Error(`${wrong} are no primes`);
    return { summary: `${n} = ${factors.join(" · ")}`, details: { factors: factors.map(String), checked_by: arithmetic } };
  });
}

/**
 * Returns the prime factors of n, the smallest first.
 *
 * @param {bigint} n
 * @param {AbortSignal} signal
 * @returns {Promise<bigint[]>}
 */
export async function factorize(n, signal) {
  const factors = [];
  for (let p = 2n; p < 10_000n && p * p <= n; p++) {
    for (; n % p === 0n; n /= p) factors.push(p);
  }
  const rest = n > 1n ? [n] : [];
  while (rest.length > 0) {
    const m = rest.pop();
    if (isPrime(m)) {
      factors.push(m);
    } else {
      const d = await divisor(m, signal);
      rest.push(d, m / d);
    }
  }
  return factors.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Finds a divisor of a composite number: Pollard's rho. */
async function divisor(n, signal) {
  for (let c = 1n; ; c++) {
    let [slow, fast, d] = [2n, 2n, 1n];
    for (let steps = 1; d === 1n; steps++) {
      slow = (slow * slow + c) % n;
      fast = (fast * fast + c) % n;
      fast = (fast * fast + c) % n;
      d = gcd(slow > fast ? slow - fast : fast - slow, n);
      if (steps % 1000 === 0) {
        await new Promise((resolve) => setTimeout(resolve)); // lets the event loop process messages
        signal.throwIfAborted();
      }
    }
    if (d !== n) return d;
  }
}

function gcd(a, b) {
  while (b > 0n) [a, b] = [b, a % b];
  return a;
}

/** Reports whether n is prime: Miller and Rabin's test, with enough bases below 3.3e24. */
function isPrime(n) {
  const bases = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n, 41n];
  if (n < 43n * 43n) return bases.includes(n) || (n > 1n && bases.every((p) => n % p !== 0n));
  let [d, twos] = [n - 1n, 0];
  for (; d % 2n === 0n; d /= 2n) twos++;
  return bases.every((base) => {
    let x = power(base, d, n);
    if (x === 1n || x === n - 1n) return true;
    for (let i = 1; i < twos; i++) {
      x = (x * x) % n;
      if (x === n - 1n) return true;
    }
    return false;
  });
}

function power(base, exponent, modulus) {
  let result = 1n;
  for (base %= modulus; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % modulus;
    base = (base * base) % modulus;
  }
  return result;
}

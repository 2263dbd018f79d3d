// SHA-256 (FIPS 180-4), for browsers: their own is asynchronous, and the core needs digests at once.

const ROUNDS = 64
const BLOCK = 64

const K = new Uint32Array(ROUNDS)
const INITIAL = new Uint32Array(8)
fillConstants()

export function sha256(data: Uint8Array): Uint8Array {
  const state = Uint32Array.from(INITIAL)
  const padded = pad(data)
  const words = new Uint32Array(ROUNDS)
  for (let at = 0; at < padded.byteLength; at += BLOCK) compress(state, words, new DataView(padded.buffer, at, BLOCK))
  const digest = new DataView(new ArrayBuffer(32))
  for (const [index, part] of state.entries()) digest.setUint32(index * 4, part)
  return new Uint8Array(digest.buffer)
}

function pad(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((data.length + 9) / BLOCK) * BLOCK)
  padded.set(data)
  padded[data.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(data.length) * 8n)
  return padded
}

function compress(state: Uint32Array, w: Uint32Array, block: DataView): void {
  for (let t = 0; t < 16; t++) w[t] = block.getUint32(t * 4)
  for (let t = 16; t < ROUNDS; t++) {
    const far = word(w, t - 15)
    const near = word(w, t - 2)
    const s0 = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3)
    const s1 = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10)
    w[t] = word(w, t - 16) + s0 + word(w, t - 7) + s1
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let t = 0; t < ROUNDS; t++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + word(K, t) + word(w, t)) | 0
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
  }
  for (const [index, sum] of [a, b, c, d, e, f, g, h].entries()) state[index] = word(state, index) + sum
}

/** The first 32 bits of the fractions of the cube roots, and square roots, of the first primes. */
function fillConstants(): void {
  let found = 0
  for (let number = 2; found < ROUNDS; number++) {
    if (!isPrime(number)) continue
    if (found < INITIAL.length) INITIAL[found] = fraction(Math.sqrt(number))
    K[found++] = fraction(Math.cbrt(number))
  }
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false
  return true
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32)
}

function rotated(bits: number, by: number): number {
  return (bits >>> by) | (bits << (32 - by))
}

function word(words: Uint32Array, index: number): number {
  return words[index] ?? 0
}

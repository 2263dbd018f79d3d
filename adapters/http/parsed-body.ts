/** The bytes by which the body of two requests is compared, after a framework has parsed it. `undefined`: too large. */
export function bytesOfBody(body: unknown, most: number): Uint8Array | undefined {
  const bytes = asBytes(body)
  return bytes.length > most ? undefined : bytes
}

function asBytes(body: unknown): Uint8Array {
  if (body === undefined) return Buffer.alloc(0)
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

import { isPlainText } from '../../../src/spi.ts'

export const MOST_NAME_BYTES = 255

/** True for a valid name of a queue or an exchange. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && isPlainText(name) && Buffer.byteLength(name) <= MOST_NAME_BYTES
}

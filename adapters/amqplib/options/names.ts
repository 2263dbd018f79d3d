import { isPlainText, where, type Rule } from '../../../src/internal.ts'

const MOST_NAME_BYTES = 255

/** True for a valid name of a queue or an exchange. */
function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && isPlainText(name) && Buffer.byteLength(name) <= MOST_NAME_BYTES
}

/** The name of a queue or an exchange. */
export const NAME: Rule<string> = where(`a name of 1 to ${MOST_NAME_BYTES} bytes without control characters`, isName)

import { isConsumeOnceError } from '../../src/index.ts'

/** Code of the error of a call that must fail. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'no error'
  } catch (error) {
    return isConsumeOnceError(error) ? error.code : String(error)
  }
}

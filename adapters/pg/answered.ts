import { toStoreError } from './sql-errors.ts'

/** Converts every rejection into an error of the library. */
export async function answered<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw toStoreError(error, what)
  }
}

import { toStoreError } from './sql-errors.ts'

/** Rejects with errors of the library only. */
export async function answered<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw toStoreError(error, what)
  }
}

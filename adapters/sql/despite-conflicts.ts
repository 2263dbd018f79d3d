/** Conflicts with other transactions resolve themselves; more than a few in a row have another cause. */
const TRIES = 5

/** Makes a retry after each error for which `isConflict` is true, such as a deadlock. */
export async function despiteConflicts<T>(once: () => Promise<T>, isConflict: (error: unknown) => boolean): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once()
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error
    }
  }
}

/** The only run of a call is lost: nothing of it was committed, and its key is free. `cause` ended its transaction. */
export class LostRun extends Error {
  constructor(cause: unknown) {
    super('nothing was committed', { cause })
  }
}

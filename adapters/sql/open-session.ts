import type { TransactionError } from '../../src/internal.ts'
import type { Lent, Released, Script, Session, ToldOfQueries } from './session.ts'
import type { TakenConnection } from './taken-connection.ts'

/** The part of a taken connection that its session uses. */
export type OpenConnection = Pick<
  TakenConnection,
  'spoiledBy' | 'spoil' | 'isRetired' | 'retire' | 'refuseCommitIfSpoiled' | 'close'
>

/** How a session ends, whatever its database: it says what it sends. Connection and slot are returned once. */
export abstract class OpenSession<Tx, Connection extends OpenConnection> implements Session<Tx> {
  protected readonly connection: Connection
  readonly #giveSlot: () => void
  #isOver = false

  constructor(connection: Connection, giveSlot: () => void) {
    this.connection = connection
    this.#giveSlot = giveSlot
  }

  abstract get failure(): TransactionError | undefined
  abstract get isChanged(): boolean
  abstract lend(told: ToldOfQueries): Lent<Tx>
  abstract run<Row>(script: Script<Row>): Promise<readonly Row[]>

  /** Sends `last` and the COMMIT. */
  protected abstract sendCommit(last: readonly Script[]): Promise<'committed' | 'rolled back'>
  /** Sends the end of the handlers' writes, `last` and the COMMIT. */
  protected abstract sendRelease(last: readonly Script[]): Promise<'released' | 'lost'>
  /** A release was refused because a handler had ended the transaction. */
  protected abstract isEndedByHandler(error: unknown): boolean
  /** Sends a ROLLBACK, and `last` behind it. One without an answer takes effect when the connection is closed. */
  protected abstract sendRollback(last?: Script): Promise<unknown>
  /** Runs a script that commits by itself on this connection, after the transaction. */
  protected abstract runAlone<Row>(script: Script<Row>): Promise<readonly Row[]>
  /** As `Sessions.committed`. */
  protected abstract committed<Row>(script: Script<Row>): Promise<readonly Row[]>

  get spoiledBy(): unknown {
    return this.connection.spoiledBy
  }

  spoil(cause: unknown): void {
    this.connection.spoil(cause)
  }

  retire(): void {
    this.connection.retire()
  }

  protected get isOver(): boolean {
    return this.#isOver
  }

  protected get isUsable(): boolean {
    return this.spoiledBy === undefined && !this.#isOver
  }

  /** The beginning of the transaction was sent. If it is refused, nothing stays open, and `undo` runs instead. */
  protected async begun<T>(sent: Promise<T>, undo?: () => Promise<unknown>): Promise<T> {
    try {
      return await sent
    } catch (error) {
      await this.#rollBack()
      if (undo !== undefined && this.isUsable) await undo().catch((cause: unknown) => this.spoil(cause))
      this.end()
      throw error
    }
  }

  async commit(last: readonly Script[]): Promise<'committed' | 'rolled back'> {
    try {
      this.connection.refuseCommitIfSpoiled()
      const end = await this.sendCommit(last)
      this.end()
      return end
    } catch (error) {
      await this.rollback()
      throw error
    }
  }

  async rollback(last?: Script): Promise<void> {
    await this.#rollBack(last)
    this.end()
  }

  async release(last: readonly Script[]): Promise<Released> {
    let released: Released = 'lost'
    try {
      if (this.isUsable) released = await this.sendRelease(last)
    } catch (error) {
      if (this.isEndedByHandler(error)) released = 'ended'
    }
    if (released === 'ended') this.retire()
    if (released !== 'released') await this.#rollBack()
    this.end()
    return released
  }

  async replace<Row>(script: Script<Row>): Promise<readonly Row[]> {
    await this.#rollBack()
    try {
      if (this.isUsable && !this.connection.isRetired) return await this.runAlone(script)
    } finally {
      this.end()
    }
    return this.committed(script)
  }

  protected end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.connection.close()
    this.#giveSlot()
  }

  async #rollBack(last?: Script): Promise<void> {
    if (this.isUsable) await this.sendRollback(last).catch((error: unknown) => this.spoil(error))
  }
}

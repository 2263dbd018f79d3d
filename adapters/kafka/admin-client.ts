import { setTimeout as sleep } from 'node:timers/promises'
import type { DurationMs } from '../../src/internal.ts'
import { isTransient, isUnanswered } from './protocol-error.ts'
import { refusedLogin } from './refused-login.ts'
import type { Admin, KafkaClient } from './client.ts'

const TRIES = 8
const AGAIN_MS = 250

/**
 * Keeps an admin client while requests are open, and `keepMs` longer. Each kafkajs connection runs a timer every
 * millisecond, so none is kept for good.
 */
export class AdminClient {
  readonly #opens: Pick<KafkaClient, 'admin'>
  readonly #keepMs: DurationMs
  #users = 0
  #client: Promise<Admin> | undefined
  #closing: NodeJS.Timeout | undefined
  /** The last error of a client that reached none of the brokers. */
  #unreachable: unknown

  /** @param keepMs - with more than 0, `close()` is to be called in the end; the client of a failed request is not kept */
  constructor(client: Pick<KafkaClient, 'admin'>, keepMs: DurationMs = 0) {
    this.#opens = client
    this.#keepMs = keepMs
  }

  /** @throws (rejects) ConfigError `CONFIG_INVALID` if the brokers refuse the login of the client */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    clearTimeout(this.#closing)
    this.#users++
    const client = (this.#client ??= this.#connect())
    let keepMs = 0
    try {
      const answer = await question(await client)
      keepMs = this.#keepMs
      return answer
    } finally {
      this.#users--
      if (this.#users === 0) {
        if (keepMs > 0) this.#closing = setTimeout(() => this.close(), keepMs).unref()
        else this.close()
      }
    }
  }

  /** A request after it opens the next client. */
  close(): void {
    clearTimeout(this.#closing)
    const client = this.#client
    this.#client = undefined
    void client?.then((admin) => admin.disconnect()).catch(() => {})
  }

  /** As `ask`, and again for some seconds while that is worth it. */
  async askAgain<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(question)
      } catch (error) {
        if (tries === TRIES || !(await this.isWorthAnotherTry(error))) throw error
      }
      await sleep(AGAIN_MS)
    }
  }

  /** The broker asked to wait, or a request got no answer although one of the brokers answers. Never rejects. */
  async isWorthAnotherTry(error: unknown): Promise<boolean> {
    if (isTransient(error)) return true
    return isUnanswered(error) && error !== this.#unreachable && (await this.#isAnswered())
  }

  /** With a client of its own: the broker of an open one may be the one that is gone. */
  async #isAnswered(): Promise<boolean> {
    try {
      const admin = await this.#connect()
      void admin.disconnect().catch(() => {})
      return true
    } catch {
      return false
    }
  }

  async #connect(): Promise<Admin> {
    try {
      return await this.#opens.admin()
    } catch (error) {
      const refused = refusedLogin(error) ?? error
      this.#unreachable = refused
      throw refused
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { isTransient, isUnanswered } from './protocol-error.ts'
import { refusedLogin } from './refused-login.ts'
import type { Admin, KafkaClient } from './client.ts'

const TRIES = 8
const AGAIN_MS = 250

/**
 * Keeps an admin client while requests are open. Each kafkajs connection runs a timer every millisecond, so none is
 * kept in between.
 */
export class AdminClient {
  readonly #opens: Pick<KafkaClient, 'admin'>
  #users = 0
  #client: Promise<Admin> | undefined
  /** The last error of a client that reached none of the brokers. */
  #unreachable: unknown

  constructor(client: Pick<KafkaClient, 'admin'>) {
    this.#opens = client
  }

  /** @throws (rejects) ConfigError `CONFIG_INVALID` if the brokers refuse the login of the client */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    this.#users++
    const client = (this.#client ??= this.#connect())
    try {
      return await question(await client)
    } finally {
      this.#users--
      if (this.#users === 0) {
        this.#client = undefined
        void client.then((admin) => admin.disconnect()).catch(() => {})
      }
    }
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

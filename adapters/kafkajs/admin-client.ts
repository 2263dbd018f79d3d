import type { AdminLike, KafkaLike } from './slice.ts'

type Opens<Admin> = { admin(config: Parameters<KafkaLike['admin']>[0]): Admin }

/**
 * For requests about topics. For requests about a group kafkajs uses the retry settings of the user's client
 * (group-offsets.ts).
 */
const RETRY = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 }

/**
 * Keeps an admin client while requests are open. Each kafkajs connection runs a timer every millisecond, so none is
 * kept in between.
 */
export class AdminClient<Admin extends Pick<AdminLike, 'connect' | 'disconnect'> = AdminLike> {
  readonly #kafka: Opens<Admin>
  #users = 0
  #client: Promise<Admin> | undefined

  constructor(kafka: Opens<Admin>) {
    this.#kafka = kafka
  }

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

  async #connect(): Promise<Admin> {
    const admin = this.#kafka.admin({ retry: RETRY })
    await admin.connect()
    return admin
  }
}

interface Sent {
  readonly topic: string
  readonly messageId: string
  readonly value: Buffer | null
}

/** A broker that writes down what it confirms. */
export class Confirming {
  readonly sent: Sent[] = []
  answer: (message: Sent) => Promise<void> | void = () => {}

  async publish(message: Sent): Promise<void> {
    await this.answer(message)
    this.sent.push(message)
  }

  get ids(): readonly string[] {
    return this.sent.map(({ messageId: id }) => id)
  }

  get texts(): readonly string[] {
    return this.sent.map(({ value }) => String(value))
  }
}

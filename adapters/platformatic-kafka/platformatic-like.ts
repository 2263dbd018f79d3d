/**
 * The part of `@platformatic/kafka` that is used: its connections and its codecs of the protocol. `import * as platformatic`
 * fits; test/types/platformatic-kafka.ts proves it. Groups, fetches, commits and sends are made here, because each of its own
 * ways loses or repeats messages (docs/kafka.md).
 */
export interface PlatformaticLike {
  readonly Base: new (options: BaseOptionsLike) => BaseLike
  readonly kGetConnection: symbol
  readonly apiVersionsV3: { readonly api: unknown }
  readonly clientSoftwareName: string
  readonly clientSoftwareVersion: string
  readonly parseBroker: (broker: string | BrokerLike) => BrokerLike
  readonly createAPI: unknown
  readonly fetchV13: ApiModuleLike
  readonly fetchV17: ApiModuleLike
  readonly protocolErrors: Readonly<
    Record<string, { readonly id: string; readonly code: number; readonly canRetry: boolean }>
  >
  readonly compressionsAlgorithmsByBitmask: Readonly<
    Record<string, { readonly decompressSync: (bytes: never) => Buffer; readonly available?: boolean | undefined }>
  >
}

/** How its clients are made, beside what is set here. */
export interface BaseOptionsLike {
  readonly clientId: string
  readonly bootstrapBrokers: string[] | { host: string; port: number }[]
  /** Those of its connections: `tls`, `sasl`, `connectTimeout` and others. */
  readonly [option: string]: unknown
}

/** A client: it keeps connections. */
export interface BaseLike {
  close(callback: (error: Error | null) => void): void
  on(event: string, listener: (...given: never[]) => void): unknown
}

export interface ApiModuleLike {
  readonly createRequest: (...given: never[]) => unknown
}

export interface ReaderLike {
  readInt8(): number
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readUUID(): string
  readUnsignedVarInt(): number
  readonly buffer: { slice(from: number): Buffer }
  position: number
}

/** A broker, as its connections name it. */
export interface BrokerLike {
  readonly host: string
  readonly port: number
}

export interface ConnectionLike {
  close(callback: (error?: Error | null) => void): void
}

/** The part of an ioredis 5 or 6 client that is used. `Redis` and `Cluster` fit. */
export interface IoredisLike extends ScriptsLike, CallLike {
  pipeline(): PipelineLike
  on?(event: 'ready' | 'error', listener: (error?: unknown) => void): unknown
  off?(event: 'ready' | 'error', listener: (error?: unknown) => void): unknown
  readonly options?: object | undefined
  readonly isCluster?: boolean
  /** Clusters only. */
  nodes?(role: 'master'): readonly NodeLike[]
}

export interface ScriptsLike {
  evalsha(sha: string, keys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(lua: string, keys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
}

interface CallLike {
  call(command: string, ...words: string[]): Promise<unknown>
}

export interface PipelineLike {
  evalsha(sha: string, keys: number, ...keysAndArguments: (string | number)[]): unknown
  eval(lua: string, keys: number, ...keysAndArguments: (string | number)[]): unknown
  call(command: string, ...words: string[]): unknown
  exec(): Promise<readonly (readonly [error: Error | null, reply: unknown])[] | null>
}

interface NodeLike extends CallLike {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined }
}

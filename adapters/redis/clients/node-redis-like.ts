/**
 * The part of a node-redis 5 or 6 client that is used. The results of `createClient()`, `createClientPool()` and
 * `createCluster()` fit.
 */
export type NodeRedisLike = ClientLike | ClusterLike

interface ListenedTo {
  on?(event: 'ready' | 'node-ready' | 'error', listener: (error?: unknown) => void): unknown
  off?(event: 'ready' | 'node-ready' | 'error', listener: (error?: unknown) => void): unknown
}

interface ClientLike extends ScriptsLike, NodeLike, ListenedTo {
  readonly options?: object | undefined
  multi(): MultiLike & { addCommand(words: string[]): unknown }
}

export interface ClusterLike extends ScriptsLike, ListenedTo {
  multi(): MultiLike & { addCommand(firstKey: undefined, isReadonly: boolean, words: string[]): unknown }
  readonly masters: readonly MasterLike[]
  nodeClient(master: MasterLike): Promise<NodeLike> | NodeLike
}

interface ScriptsLike {
  evalSha(sha: string, how: EvalOptions): Promise<unknown>
  eval(lua: string, how: EvalOptions): Promise<unknown>
  withTypeMapping(mapping: Record<string, never>): unknown
}

export interface MultiLike {
  evalSha(sha: string, how: EvalOptions): unknown
  eval(lua: string, how: EvalOptions): unknown
  execAsPipeline(): Promise<readonly unknown[]>
}

interface NodeLike {
  sendCommand(words: string[]): Promise<unknown>
}

interface MasterLike {
  readonly address: string
}

export interface EvalOptions {
  keys: string[]
  arguments: string[]
}

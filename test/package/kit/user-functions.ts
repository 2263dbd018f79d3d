import { join } from 'node:path'
import { entries } from '../../../packaging/entries.ts'
import {
  API,
  SignatureKind,
  SymbolFlags,
  TypeFlags,
  type Checker,
  type Program,
  type Type,
} from 'typescript/unstable/sync'

const root = process.cwd()

/**
 * What a user hands in from another package, or implements for the library as a whole. Its methods are no functions of
 * their own.
 */
const NO_OPTIONS =
  /Like$|^(?:Lease|Inbox|Offsets)?Store$|^(?:Store|Position)?Admin$|^(?:Source|Publisher|Intake|Clock|Entropy|Tracing|Consumer|Subscription|Migrations|DoneChannel|PostgresDoneChannel|ReplayReader|ReplayPublisher|ReplayPlaces|ReplayJournal|ReplayLedger|Health|Running|Pausable|LiveSignals|Dashboard|MemoryBroker|RabbitConnect|OwnChannel|GuardClient|Delivery|Message|IncomingMessage|AmqpMessage|RabbitClientMessage|InboxDatabase|OffsetsDatabase|AbortSignal|Map|Set|Promise|PromiseLike|Error|Date|RegExp|Uint8Array|Buffer|Iterable|AsyncIterable|ReadableStream|Request|Response|Headers|URL)$/

/** Arguments of functions that the library hands out to itself: a port, or what a port calls back. */
const OF_THE_LIBRARY =
  /^(?:DeliveryWatch|DoneEars|RunTrace\.|Traced(?:Delivery|End|Start)|Tracing\.|PgTransaction|MysqlTransaction|Watched|LiveSignals\(|DashboardOptions\.live|DoneCacheOptions\.clock|(?:Inbox|Lease|Offsets)Store\.|Pick$|Idempotency\.(?:express|fastify|hono)\(\)$)/

/** The options of a consumer under the names that they have in different places. */
const SETTINGS = /^(?:Partial|HandleOnceOptions|OncePerMessageOptions|defineConsumer\(\)\.options)(?=$|\.)/

/** Objects of the user whose methods the library calls for each message, although they are no options. */
const PORTS_OF_USERS = /^(?:Logger|SealResult|StandardSchema)$/

const DEEPEST = 4

/** For authors of stores and sources: what they write is a port of its own, with its contract suite. */
const FOR_AUTHORS = new Set(['./spi', './testing'])

/** As `owner.name`. */
export type UserFunctions = readonly string[]

/**
 * Every function that a user may hand in, as `owner.name`: arguments of the public functions, and properties of the
 * objects among these arguments. Found by the type checker, so that a new one is found by itself.
 */
function userFunctions(): UserFunctions {
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.build.json')] })
    const [project] = snapshot.getProjects()
    if (project === undefined) throw new Error('tsconfig.build.json is no project (user-functions)')
    const walker = new Walker(project.checker, project.program)
    for (const { name, source } of entries(root)) if (!FOR_AUTHORS.has(name)) walker.entry(source)
    return [...walker.found].toSorted()
  } finally {
    api.close()
  }
}

class Walker {
  readonly found = new Set<string>()
  readonly #checker: Checker
  readonly #program: Program
  readonly #seen = new Set<string>()

  constructor(checker: Checker, program: Program) {
    this.#checker = checker
    this.#program = program
  }

  entry(source: string): void {
    const file = this.#program.getSourceFile(join(root, source))
    const module = file && this.#checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${source} is no module`)
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const symbol = exported.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported
      if (!(symbol.flags & SymbolFlags.Value)) continue
      const type = this.#checker.getTypeOfSymbol(symbol)
      if (type !== undefined) this.#given(symbol.name, type, 0)
    }
  }

  /** What a user gets: its functions may be called. */
  #given(name: string, type: Type | undefined, depth: number): void {
    for (const part of this.#partsOf(type)) {
      const key = `given ${name} ${part.id}`
      if (depth > DEEPEST || this.#seen.has(key)) continue
      this.#seen.add(key)
      const calls = [
        ...this.#checker.getSignaturesOfType(part, SignatureKind.Call),
        ...this.#checker.getSignaturesOfType(part, SignatureKind.Construct),
      ]
      for (const call of calls) {
        for (const parameter of call.getParameters()) {
          this.#taken(`${name}()`, parameter.name, this.#checker.getTypeOfSymbol(parameter), 0)
        }
        const answer = this.#checker.getReturnTypeOfSignature(call)
        for (const one of this.#partsOf(answer)) this.#given(this.#ownName(one) ?? name, this.#awaited(one), depth + 1)
      }
      if (calls.length > 0 && !/^[a-z]/.test(name)) continue
      for (const property of this.#propertiesOf(part)) {
        this.#given(`${name}.${property.name}`, this.#checker.getTypeOfSymbol(property), depth + 1)
      }
    }
  }

  /** What a user hands in. */
  #taken(owner: string, name: string, type: Type | undefined, depth: number): void {
    for (const part of this.#partsOf(type)) {
      if (this.#checker.getSignaturesOfType(part, SignatureKind.Call).length > 0) {
        if (!OF_THE_LIBRARY.test(owner)) this.found.add(`${owner.replace(SETTINGS, 'ConsumerSettings')}.${name}`)
        continue
      }
      const own = this.#ownName(part)
      if (own !== undefined && NO_OPTIONS.test(own)) continue
      const elements = this.#elementsOf(part)
      if (elements.length > 0) {
        for (const element of elements) this.#taken(owner, name, element, depth)
        continue
      }
      const key = `taken ${part.id}`
      if (depth > DEEPEST || this.#seen.has(key)) continue
      this.#seen.add(key)
      for (const property of this.#propertiesOf(part)) {
        const declared = this.#checker.getTypeOfSymbol(property)
        const isOption = (property.flags & SymbolFlags.Method) === 0 || (own !== undefined && PORTS_OF_USERS.test(own))
        if (isOption) this.#taken(own ?? `${owner}.${name}`, property.name, declared, depth + 1)
      }
    }
  }

  #awaited(type: Type): Type {
    const [inner] =
      type.isTypeReference() && this.#ownName(type) === 'Promise' ? this.#checker.getTypeArguments(type) : []
    return inner ?? type
  }

  #elementsOf(type: Type): readonly Type[] {
    return this.#checker.isArrayLikeType(type) && type.isTypeReference() ? this.#checker.getTypeArguments(type) : []
  }

  /** Those that this package declares, or that a user writes in place. */
  #propertiesOf(type: Type): ReturnType<Checker['getPropertiesOfType']> {
    if (!type.isIntersectionType() && !(type.flags & TypeFlags.Object)) return []
    if (this.#checker.isArrayLikeType(type)) return []
    return this.#checker
      .getPropertiesOfType(type)
      .filter(
        ({ name, declarations }) =>
          !name.startsWith('__') &&
          declarations.length > 0 &&
          !declarations.some(({ path }) => path.includes('/node_modules/')),
      )
  }

  #partsOf(type: Type | undefined): readonly Type[] {
    if (type === undefined) return []
    const given = this.#checker.getNonNullableType(type) ?? type
    if (given.isUnionType()) return given.getTypes().flatMap((one) => this.#partsOf(one))
    if (!given.isTypeParameter()) return [given]
    const bound = this.#checker.getBaseConstraintOfType(given)
    return bound === undefined || bound === given ? [] : this.#partsOf(bound)
  }

  #ownName(type: Type): string | undefined {
    const name = type.getAliasSymbol()?.name ?? type.getSymbol()?.name
    return name === undefined || name.startsWith('__') ? undefined : name
  }
}

process.stdout.write(JSON.stringify(userFunctions()))

import { join } from 'node:path'
import { entries, type Entry } from '../../../packaging/entries.ts'
import {
  API,
  SignatureKind,
  SymbolFlags,
  TypeFlags,
  type Checker,
  type Program,
  type Signature,
  type Symbol as Named,
  type Type,
} from 'typescript/unstable/sync'

/** A parameter of a public function that takes an object. */
export interface PublicCall {
  /** `.`, `./pg`. */
  readonly entry: string
  /** `redrive`, `new MemoryBroker`, `Running.stop`. */
  readonly name: string
  /** Type names of all parameters, in order. */
  readonly parameters: readonly string[]
  /** The one that takes the object. */
  readonly at: number
  readonly options: string
  /** Names of its properties. */
  readonly known: readonly string[]
  /** Those of its properties that take a list and nothing else. */
  readonly lists: readonly string[]
  /** Places inside of it that take an object of their own, such as `['retry', 'delayedByQueue']`. */
  readonly nested: readonly (readonly string[])[]
  /** What the docstring of each option says, by its place: `retry.topics.0.delayMs`. */
  readonly told: Readonly<Record<string, Told>>
}

export interface Told {
  readonly text: string
  /** What stands behind `@defaultValue`. */
  readonly usual?: string
}

export interface Found {
  readonly calls: readonly PublicCall[]
  /** Every option, nested ones too, with the texts that it may be; `*` if it may be any text. */
  readonly options: Readonly<Record<string, readonly string[]>>
  /** Entries of `THINGS` that met nothing. */
  readonly unused: readonly string[]
}

/**
 * Objects that are handed in and are no options, with the reason. What has one of these names is not looked into, and its methods are not
 * called by users. An entry that meets nothing fails its test.
 */
const THINGS: Readonly<Record<string, string>> = {
  '.+Like$|^AdaptedKafka$': 'the part of a client of another package that is used',
  AmqpPublishProperties$: 'properties of a message of amqplib, which are handed on to it',
  'Fastify(?:Instance|Request|Reply)$': 'of Fastify',
  Consumer$: 'defineConsumer() makes it, and its own symbol is asked for',
  Pick$: 'a part of a value that the library made',
  DeliveryWatch$: 'a framework follows a delivery by it: both ends are of the library',
  Sender$: 'told to `auth` of a dashboard by the library',
  '(?:Lease|Inbox|Offsets)?Store$': 'a port: adapters implement it and the pipeline calls it, on the hot path',
  'StoreAdmin$|Source$|Source & Publisher$|Publisher$|Intake$': 'a port, as above',
  'Replay(?:Reader|Publisher|Places|Journal|Ledger)$': 'a port, as above',
  'DoneChannel$|PostgresDoneChannel$': 'a port, as above; its makers take the options',
  'Clock$|Entropy$|Logger$|Tracing$|SealResult$|StandardSchema$': 'a port, as above',
  'Observer$|ObserverEvent$': 'a port, as above',
  '(?:Incoming)?Message$|Incoming$|AmqpMessage$|RabbitClientMessage$|JobLike$': 'a message, as its client made it',
  '(?:Sql)?Outbox$|Publishing$': 'postgresOutbox() makes it, and the store asks for its own',
  '(?:Kafka|Rabbit)Event$|LambdaContext$': 'of AWS Lambda',
  'ReplayPlan$|ReplayStatus$|RedriveStatus$|ReplayItem$|RunState$':
    'made by the library, and checked by its digest or version',
  Foreseen$: 'made by redrive(), which knows its own',
  'DeliveryEnd$|SourceEvent$|CheckedConsumer$': 'made by the library for adapters',
  'RabbitConnect$|OwnChannel$': 'of amqplib: its options, a connection or a channel',
  '(?:Inbox|Offsets)Database$': 'what a store in memory keeps',
  'GuardClient$|(?:Pg|Mysql)Transaction$|PgQuery$|MysqlQuery$':
    'a connection, and statements that are handed on to its client',
  'Map$|Set$|AbortSignal$': 'of the language',
}
/** As above; but users call their methods. */
const HANDLES: Readonly<Record<string, string>> = {
  '(?:MemoryBroker|Dashboard|ConfirmedPublisher|LiveSignals|Watched|Migrations)$':
    'a handle, whose methods are asked for',
}
const HANDLE = new RegExp(`^(?:${Object.keys(HANDLES).join('|')})`)
const THING = new RegExp(`^(?:${Object.keys(THINGS).join('|')})`)

/** Exports for authors of stores and sources have values of the protocol as arguments; only what is called options is looked at. */
const FOR_AUTHORS = new Set(['./spi', './testing'])
const OPTIONS = /(?:Options|Dependencies|UnderContract)$|^Rules$/
/** They are told for whom they check. */
const FOR_STORES = /^(?:(?:resolve|split)Sequences|checkOnce)$/

/** `new StoreError(text, { cause })`: the second argument of an Error of the language. */
const OF_ERRORS = /^new \w+Error$/

const ANY_TEXT = TypeFlags.String | TypeFlags.TemplateLiteral | TypeFlags.Any | TypeFlags.Unknown

const DEEPEST = 3
const root = process.cwd()

/** Types of what holds others, which count for what they hold. */
const HOLDERS = /^(?:Promise|PromiseLike|Array|ReadonlyArray|AsyncIterable|AsyncIterator|AsyncGenerator)$/

/**
 * Every place of the package where a user hands in an object: parameters of what an entry point exports, and of the methods of what
 * those functions return or pass to functions of the user. Found by the type checker, so that a new one is found by itself.
 */
function publicCalls(): Found {
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.build.json')] })
    const [project] = snapshot.getProjects()
    if (project === undefined) throw new Error('tsconfig.build.json is no project (public-calls)')
    const walker = new Walker(project.checker, project.program)
    for (const entry of entries(root)) walker.entry(entry)
    return {
      calls: walker.calls,
      options: Object.fromEntries([...walker.options].map(([name, values]) => [name, [...values]])),
      unused: Object.keys({ ...THINGS, ...HANDLES }).filter(
        (thing) => ![...walker.things].some((name) => new RegExp(`^(?:${thing})`).test(name)),
      ),
    }
  } finally {
    api.close()
  }
}

class Walker {
  readonly calls: PublicCall[] = []
  readonly options = new Map<string, Set<string>>()
  readonly #checker: Checker
  readonly #program: Program
  /** Names of things that were met. */
  readonly things = new Set<string>()
  readonly #seen = new Set<number | string>()
  #entry = ''
  /** What the options of the current call say. */
  #told: Record<string, Told> = {}

  constructor(checker: Checker, program: Program) {
    this.#checker = checker
    this.#program = program
  }

  entry({ name, source }: Entry): void {
    this.#entry = name
    const file = this.#program.getSourceFile(join(root, source))
    const module = file && this.#checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${name}: ${source} is no module`)
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const symbol = exported.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported
      if (!(symbol.flags & SymbolFlags.Value) || this.#seen.has(symbol.id)) continue
      this.#seen.add(symbol.id)
      const type = this.#checker.getTypeOfSymbol(symbol)
      if (type !== undefined) this.#value(symbol.name, type)
    }
  }

  /** Something that a user gets, under the name by which it is called. */
  #value(name: string, type: Type): void {
    for (const signature of this.#callsOf(type)) this.#signature(name, signature)
    for (const signature of this.#checker.getSignaturesOfType(type, SignatureKind.Construct)) {
      this.#signature(`new ${name}`, signature)
    }
    this.#members(name, type)
  }

  #signature(name: string, signature: Signature): void {
    const parameters = signature.getParameters()
    const types = parameters.map((parameter) => this.#checker.getTypeOfSymbol(parameter))
    for (const [at, type] of types.entries()) {
      if (type === undefined || this.#isThing(this.#nameOf(type))) continue
      for (const part of this.#partsOf(type)) {
        // What the library passes to a function of the user is a value that the user gets.
        for (const called of this.#callsOf(part)) {
          for (const passed of called.getParameters()) this.#got(this.#checker.getTypeOfSymbol(passed))
        }
        if (!this.#isTaken(part) || this.#isExempt(name, part)) continue
        this.#told = {}
        this.calls.push({
          entry: this.#entry,
          name,
          parameters: types.map((one) =>
            one === undefined ? '' : this.#nameOf(this.#checker.getNonNullableType(one) ?? one),
          ),
          at,
          options: this.#nameOf(part),
          known: this.#propertiesOf(part).map((property) => property.name),
          lists: this.#propertiesOf(part)
            .filter((property) => this.#isList(this.#checker.getTypeOfSymbol(property)))
            .map((property) => property.name),
          nested: this.#nestedIn(part, []),
          told: this.#told,
        })
      }
    }
    this.#got(this.#checker.getReturnTypeOfSignature(signature))
  }

  /** A value that a user gets: its methods are public. */
  #got(type: Type | undefined): void {
    for (const part of this.#partsOf(type)) {
      const name = this.#nameOf(part)
      if (this.#isThing(name) || (FOR_AUTHORS.has(this.#entry) && !HOLDERS.test(name))) continue
      if (HOLDERS.test(name)) {
        for (const argument of this.#argumentsOf(part)) this.#got(argument)
        continue
      }
      if (this.#seen.has(`type ${part.id}`)) continue
      this.#seen.add(`type ${part.id}`)
      for (const signature of this.#callsOf(part)) this.#signature(`${name}()`, signature)
      this.#members(name, part)
    }
  }

  #members(name: string, type: Type): void {
    if (this.#isThing(name) || !this.#isOwnObject(type)) return
    for (const property of this.#propertiesOf(type)) {
      if (property.name.startsWith('__')) continue
      for (const part of this.#partsOf(this.#checker.getTypeOfSymbol(property))) {
        for (const signature of this.#callsOf(part)) this.#signature(`${name}.${property.name}`, signature)
        if (this.#callsOf(part).length === 0) this.#got(part)
      }
    }
  }

  #nestedIn(type: Type, path: readonly string[]): string[][] {
    for (const property of this.#propertiesOf(type)) this.#option(property, path)
    if (path.length > DEEPEST) return []
    return this.#propertiesOf(type).flatMap((property) => {
      const here = [...path, property.name]
      return this.#partsOf(this.#checker.getTypeOfSymbol(property)).flatMap((part) => {
        if (this.#hasMethod(part)) return []
        const element = this.#argumentsOf(part)[0]
        if (element !== undefined) {
          return this.#partsOf(element).flatMap((one) =>
            this.#isTaken(one) ? [[...here, '0'], ...this.#nestedIn(one, [...here, '0'])] : [],
          )
        }
        return this.#isTaken(part) ? [here, ...this.#nestedIn(part, here)] : []
      })
    })
  }

  #isList(type: Type | undefined): boolean {
    const parts = this.#partsOf(type)
    return (
      parts.length > 0 && parts.every((part) => !(part.flags & TypeFlags.Never) && this.#checker.isArrayLikeType(part))
    )
  }

  #option(property: Named, path: readonly string[]): void {
    const usual = property.getJsDocTags(this.#checker).find(({ name }) => name === 'defaultValue')?.text
    this.#told[[...path, property.name].join('.')] = {
      text: property.getDocumentationComment(this.#checker),
      ...(usual === undefined ? {} : { usual }),
    }
    const values = this.options.get(property.name) ?? new Set()
    this.options.set(property.name, values)
    for (const part of this.#partsOf(this.#checker.getTypeOfSymbol(property))) {
      if (part.isStringLiteralType()) values.add(part.value)
      else if (part.flags & ANY_TEXT) values.add('*')
    }
  }

  /** What must have a method is a thing, which is asked for its methods. */
  #hasMethod(type: Type): boolean {
    return this.#propertiesOf(type).some(
      (property) =>
        !(property.flags & SymbolFlags.Optional) &&
        this.#partsOf(this.#checker.getTypeOfSymbol(property)).some((part) => this.#callsOf(part).length > 0),
    )
  }

  #isExempt(name: string, type: Type): boolean {
    return (
      OF_ERRORS.test(name) ||
      FOR_STORES.test(name) ||
      (FOR_AUTHORS.has(this.#entry) && !OPTIONS.test(this.#nameOf(type)))
    )
  }

  #isThing(name: string, exempt: RegExp = THING): boolean {
    if (!exempt.test(name)) return false
    this.things.add(name)
    return true
  }

  /** An object whose properties a user writes. */
  #isTaken(type: Type): boolean {
    const name = this.#nameOf(type)
    if (this.#isThing(name) || this.#isThing(name, HANDLE) || this.#callsOf(type).length > 0) return false
    return this.#isOwnObject(type) && this.#checker.getIndexInfosOfType(type).length === 0
  }

  #isOwnObject(type: Type): boolean {
    if (type.isIntersectionType()) {
      if (type.getTypes().some((one) => !(one.flags & TypeFlags.Object))) return false
    } else if (!(type.flags & TypeFlags.Object)) return false
    if (this.#checker.isArrayLikeType(type)) return false
    return this.#propertiesOf(type).length > 0
  }

  /** Those that this package declares. */
  #propertiesOf(type: Type): readonly Named[] {
    return this.#checker
      .getPropertiesOfType(type)
      .filter(
        ({ declarations }) =>
          declarations.length > 0 &&
          declarations.every(({ path }) => path.startsWith(`${root.toLowerCase()}/`) || path.startsWith(`${root}/`)) &&
          !declarations.some(({ path }) => path.includes('/node_modules/')),
      )
  }

  #callsOf(type: Type): readonly Signature[] {
    return this.#checker.getSignaturesOfType(type, SignatureKind.Call)
  }

  /** The members of a union, without `undefined` and `null`. */
  #partsOf(type: Type | undefined): readonly Type[] {
    if (type === undefined) return []
    const given = this.#checker.getNonNullableType(type) ?? type
    if (given.isUnionType()) return given.getTypes().flatMap((one) => this.#partsOf(one))
    if (!given.isTypeParameter()) return [given]
    const bound = this.#checker.getBaseConstraintOfType(given)
    return bound === undefined || bound === given ? [] : this.#partsOf(bound)
  }

  #argumentsOf(type: Type): readonly Type[] {
    return type.isTypeReference() && (HOLDERS.test(this.#nameOf(type)) || this.#checker.isArrayLikeType(type))
      ? this.#checker.getTypeArguments(type)
      : []
  }

  #nameOf(type: Type): string {
    const name = type.getAliasSymbol()?.name ?? type.getSymbol()?.name
    return name === undefined || name.startsWith('__') ? this.#checker.typeToString(type) : name
  }
}

console.log(JSON.stringify(publicCalls()))

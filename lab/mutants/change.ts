import {
  parseSync,
  type CallExpression,
  type Function as FunctionNode,
  type MethodDefinition,
  type Node,
} from 'oxc-parser'

/**
 * How a mutant changes a marked line. A change names no text and no identifier of the source, only words of the ports
 * and of the protocol, so that code can be renamed and moved. It applies to the first node of its kind that begins on
 * the line, the outermost one.
 */
export type Change =
  /** The statement, class member, property, element or argument. In Lua: the line. */
  | 'remove'
  /** The condition of the `if`, `while` or `? :`. */
  | 'always'
  | 'never'
  /** `await x` becomes `void x`, and a rejection of x is ignored. */
  | 'dropAwait'
  /** The operand of a chain of `&&`, `||` or `??`, counted from 0. In Lua: the operand of the condition. */
  | { readonly dropOperand: number }
  | { readonly argument: number; readonly is: string | Rewrite }
  /** The value of the property, variable, assignment, `return` or arrow function. */
  | { readonly value: string | Rewrite }
  /** Part of the only string, template or regular expression that contains it. In Lua: of the line. */
  | { readonly text: string | RegExp; readonly is: string }
  | { readonly call: (call: Call) => string }
  /** The last call that begins on the line, for example in an argument of the first. */
  | { readonly innerCall: (call: Call) => string }
  | { readonly binary: (left: string, right: string) => string }
  /** Statement inserted at the start of the function. */
  | { readonly first: (...parameters: readonly string[]) => string }
  /** The last resort, for the statement, member or property. */
  | { readonly instead: Rewrite }

type Rewrite = (source: string) => string

interface Call {
  readonly source: string
  readonly callee: string
  /** The object that the method is called on. */
  readonly on: string
  readonly args: readonly string[]
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const STATEMENT = /(?:Statement|Declaration)$/
const LITERALS = new Set(['Literal', 'TemplateLiteral'])
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression', 'MethodDefinition'])
const CONDITIONAL = new Set(['IfStatement', 'ConditionalExpression', 'WhileStatement'])
const MEMBERS = new Set(['Property', 'SpreadElement', 'MethodDefinition', 'PropertyDefinition'])

/** `line` counts from 0. @throws Error if the line has no such node */
export function changed(source: string, line: number, change: Change): string {
  const { start, end, text } = new Line(source, line).edit(change)
  const result = source.slice(0, start) + text + source.slice(end)
  nodesOf(result)
  return result
}

/** The syntax tree, as far as a change of one line needs it. */
class Line {
  readonly #source: string
  /** Nodes that begin on the line, the outer before the inner. */
  readonly #nodes: readonly Node[]

  constructor(source: string, line: number) {
    this.#source = source
    const start = source.split('\n', line).reduce((at, { length }) => at + length + 1, 0)
    const end = start + (source.split('\n')[line] ?? '').length
    this.#nodes = nodesOf(source).filter((node) => node.start >= start && node.start < end)
  }

  edit(change: Change): Edit {
    if (change === 'remove') return this.#removal()
    if (change === 'always' || change === 'never') {
      const { test } = this.#first('condition', ({ type }) => CONDITIONAL.has(type)) as Extract<
        Node,
        { type: 'IfStatement' }
      >
      return edit(test, change === 'always' ? 'true' : 'false')
    }
    if (change === 'dropAwait') {
      const node = this.#ofType('AwaitExpression')
      return edit(node, `void (${this.#text(node.argument)}).catch(() => {})`)
    }
    if ('dropOperand' in change) return this.#withoutOperand(change.dropOperand)
    if ('argument' in change) {
      const argument = this.#ofType('CallExpression').arguments[change.argument]
      if (argument === undefined) throw new Error(`no argument ${change.argument}`)
      return edit(argument, rewritten(change.is, this.#text(argument)))
    }
    if ('value' in change) {
      const value = this.#first('value', (node) => valueOf(node) !== undefined)
      const node = valueOf(value) as Node
      return edit(node, `(${rewritten(change.value, this.#text(node))})`)
    }
    if ('text' in change) return this.#textEdit(change.text, change.is)
    if ('call' in change) return this.#callEdit(this.#ofType('CallExpression'), change.call)
    if ('innerCall' in change) {
      const calls = this.#nodes.filter(({ type }) => type === 'CallExpression')
      return this.#callEdit(calls.at(-1) as CallExpression, change.innerCall)
    }
    if ('binary' in change) {
      const node = this.#ofType('BinaryExpression')
      return edit(node, `(${change.binary(this.#text(node.left), this.#text(node.right))})`)
    }
    if ('first' in change) return this.#firstThing(change.first)
    const node = this.#first('statement', isRemovable)
    return edit(node, change.instead(this.#text(node)))
  }

  #callEdit(node: CallExpression, write: (call: Call) => string): Edit {
    const { callee } = node
    const on = callee.type === 'MemberExpression' ? this.#text(callee.object) : ''
    const args = node.arguments.map((one) => this.#text(one))
    return edit(node, write({ source: this.#text(node), callee: this.#text(callee), on, args }))
  }

  #text({ start, end }: Pick<Node, 'start' | 'end'>): string {
    return this.#source.slice(start, end)
  }

  #first(what: string, is: (node: Node) => boolean): Node {
    const node = this.#nodes.find(is)
    if (node === undefined) throw new Error(`no ${what} begins on the line`)
    return node
  }

  #ofType<T extends Node['type']>(type: T): Extract<Node, { type: T }> {
    return this.#first(type, (node) => node.type === type) as Extract<Node, { type: T }>
  }

  #removal(): Edit {
    const node = this.#nodes.find(isRemovable) ?? this.#first('element', () => true)
    if (STATEMENT.test(node.type)) return edit(node, ';')
    const comma = /^\s*,/.exec(this.#source.slice(node.end))
    return { start: node.start, end: node.end + (comma?.[0].length ?? 0), text: '' }
  }

  #withoutOperand(dropped: number): Edit {
    const chain = this.#ofType('LogicalExpression')
    const operands = operandsOf(chain, chain.operator)
    if (operands[dropped] === undefined) throw new Error(`no operand ${dropped}`)
    const kept = operands.filter((_, index) => index !== dropped).map((one) => `(${this.#text(one)})`)
    return edit(chain, `(${kept.join(` ${chain.operator} `)})`)
  }

  #textEdit(text: string | RegExp, is: string): Edit {
    const [outer] = this.#nodes
    if (outer === undefined) throw new Error('nothing begins on the line')
    const literals = nodesOf(this.#source).filter(
      ({ type, start, end }) => LITERALS.has(type) && start >= outer.start && end <= outer.end,
    )
    // The innermost: a template may be part of a template.
    const [node, ...others] = literals
      .filter((one) => this.#text(one).split(text).length > 1)
      .filter((one, _, all) => !all.some((other) => other !== one && other.start >= one.start && other.end <= one.end))
    if (node === undefined || others.length > 0) throw new Error(`expected one literal with ${text}`)
    return edit(
      node,
      this.#text(node).replace(text, (found: string) => is.replace('$&', found)),
    )
  }

  #firstThing(write: (...parameters: readonly string[]) => string): Edit {
    const node = this.#first('function', ({ type }) => FUNCTIONS.has(type)) as FunctionNode | MethodDefinition
    const { params, body } = 'params' in node ? node : node.value
    if (body?.type !== 'BlockStatement') throw new Error('no function with a body begins on the line')
    const names = params.map((one) => /^\w+/.exec(this.#text(one))?.[0] ?? '')
    const at = body.start + 1
    return { start: at, end: at, text: ` ${write(...names)};` }
  }
}

function nodesOf(source: string): readonly Node[] {
  const { program, errors } = parseSync('source.ts', source)
  if (errors.length > 0) throw new Error(`it does not parse: ${errors[0]?.message}`)
  const nodes: Node[] = []
  const add = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) add(one)
    else if (typeof value === 'object' && value !== null && 'type' in value) {
      nodes.push(value as Node)
      for (const child of Object.values(value)) add(child)
    }
  }
  add(program.body)
  return nodes.toSorted((one, other) => one.start - other.start || other.end - one.end)
}

function isRemovable({ type }: Node): boolean {
  return STATEMENT.test(type) || MEMBERS.has(type)
}

function valueOf(node: Node): Node | null | undefined {
  if (node.type === 'ReturnStatement') return node.argument
  if (node.type === 'ArrowFunctionExpression') return node.expression ? node.body : undefined
  if (node.type === 'Property' || node.type === 'PropertyDefinition') return node.value
  if (node.type === 'VariableDeclarator') return node.init
  return node.type === 'AssignmentExpression' ? node.right : undefined
}

function operandsOf(node: Node, operator: string): readonly Node[] {
  if (node.type !== 'LogicalExpression' || node.operator !== operator) return [node]
  return [...operandsOf(node.left, operator), node.right]
}

function edit({ start, end }: Node, text: string): Edit {
  return { start, end, text }
}

function rewritten(is: string | Rewrite, source: string): string {
  return typeof is === 'string' ? is : is(source)
}

import type { Change } from './change.ts'

const CONDITION = /^(\s*(?:(?:else)?if|while|local [\w, ]+ =) )(.*?)( then.*| do.*)?$/

/** How a mutant changes a marked line of a Lua script. `line` counts from 0. @throws Error if it cannot */
export function changedLua(source: string, line: number, change: Change): string {
  const lines = source.split('\n')
  const [text = ''] = (lines[line] ?? '').split(' -- mutant: ')
  lines[line] = changedLine(text, change)
  return lines.join('\n')
}

function changedLine(line: string, change: Change): string {
  if (change === 'remove') return ''
  if (typeof change === 'object' && 'text' in change) {
    if (line.split(change.text).length !== 2) throw new Error(`expected ${change.text} once`)
    return line.replace(change.text, change.is)
  }
  const [, before, expression = '', after = ''] = CONDITION.exec(line) ?? []
  const operator = [' or ', ' and ', ' .. '].find((one) => expression.includes(one))
  if (before === undefined || operator === undefined || typeof change === 'string' || !('dropOperand' in change)) {
    throw new Error('no such change of a line of Lua')
  }
  const operands = expression.split(operator)
  if (operands.splice(change.dropOperand, 1).length === 0) throw new Error(`no operand ${change.dropOperand}`)
  return before + operands.join(operator) + after
}

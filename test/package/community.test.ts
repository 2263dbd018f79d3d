import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'

interface Form {
  readonly name: string
  readonly description: string
  readonly body: readonly {
    readonly type: string
    readonly id?: string
    readonly attributes: { readonly label?: string; readonly value?: string; readonly options?: readonly string[] }
    readonly validations?: { readonly required?: boolean }
  }[]
}

const FORMS = '.github/ISSUE_TEMPLATE'
const formOf = (file: string): Form => parse(readFileSync(`${FORMS}/${file}`, 'utf8')) as Form
const forms = readdirSync(FORMS).filter((file) => file !== 'config.yml')

describe('issue forms', () => {
  it.each(forms)('%s is a form that GitHub takes: kinds of fields, labels, an ID for each answer', (file) => {
    const { name, description, body } = formOf(file)
    expect([name, description].every((text) => text.length > 2)).toBe(true)
    for (const { type, attributes } of body) {
      expect(['markdown', 'input', 'textarea', 'dropdown']).toContain(type)
      expect(type === 'markdown' ? attributes.value : attributes.label).toEqual(expect.any(String))
      expect(attributes.options?.length ?? 0).toBeGreaterThan(type === 'dropdown' ? 1 : -1)
    }
    const answers = body.filter(({ type }) => type !== 'markdown')
    expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length)
  })

  it('a bug tells the versions, what became of the effect, and what doctor finds', () => {
    const required = formOf('bug.yml').body.filter(({ validations }) => validations?.required === true)
    const ids = required.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(['effect', 'library', 'node', 'client', 'broker', 'store', 'doctor']))
  })
})

describe('SECURITY.md', () => {
  it('supports the version of the manifest', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
    const minor = version.split('.').slice(0, 2).join('.')
    expect(readFileSync('SECURITY.md', 'utf8')).toMatch(
      new RegExp(`^\\| ${minor.replace('.', '\\.')} +\\| yes +\\|$`, 'm'),
    )
  })
})

describe('the pull-request template', () => {
  it('names files and scripts that exist', () => {
    const text = readFileSync('.github/pull_request_template.md', 'utf8')
    const files = text.match(/[\w/]+\.md/g) ?? []
    expect(files.length).toBeGreaterThan(2)
    expect(files.filter((file) => !existsSync(file))).toEqual([])
  })
})

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { misuse } from '../exit.ts'

/** How the code of a project is written, by its package.json and tsconfig.json. */
export interface Project {
  readonly language: 'ts' | 'js'
  readonly modules: 'esm' | 'cjs'
  /** The extension of its files: `ts`, `mts` or `js`. */
  readonly extension: string
  /** The extension that its imports name: `js`, `mjs`, `ts` or `mts`. */
  readonly imported: string
  /** Where code lies: `src/`, or nothing. */
  readonly folder: string
  /** Names of the packages that it has. */
  readonly packages: ReadonlySet<string>
}

interface CompilerOptions {
  readonly verbatimModuleSyntax?: boolean
  readonly allowImportingTsExtensions?: boolean
  readonly rewriteRelativeImportExtensions?: boolean
}

/** @throws CommandError, exit 2: there is no package.json, or a file cannot be read */
export function projectIn(root: string): Project {
  const manifest = join(root, 'package.json')
  if (!existsSync(manifest)) throw misuse(`expected a package.json in ${root}, found none: run npm init -y`)
  const { type, dependencies, devDependencies } = parsed(manifest) as Readonly<Record<string, unknown>>
  const packages = new Set(Object.keys({ ...(dependencies as object), ...(devDependencies as object) }))
  const tsconfig = join(root, 'tsconfig.json')
  const language = existsSync(tsconfig) || packages.has('typescript') ? 'ts' : 'js'
  const written = language === 'ts' ? typeScript(compilerOptions(tsconfig), type === 'module') : javaScript(type)
  return { language, ...written, folder: existsSync(join(root, 'src')) ? 'src/' : '', packages }
}

type Written = Pick<Project, 'modules' | 'extension' | 'imported'>

function javaScript(type: unknown): Written {
  return { modules: type === 'module' ? 'esm' : 'cjs', extension: 'js', imported: 'js' }
}

/** With `import` also where it becomes CommonJS. There `verbatimModuleSyntax` allows it in ES modules alone. */
function typeScript(options: CompilerOptions, isModule: boolean): Written {
  const extension = !isModule && options.verbatimModuleSyntax === true ? 'mts' : 'ts'
  const keeps = options.allowImportingTsExtensions === true || options.rewriteRelativeImportExtensions === true
  return { modules: 'esm', extension, imported: keeps ? extension : extension.replace('ts', 'js') }
}

/** The options of a file and of those that it extends. A file of a package is passed over. */
function compilerOptions(file: string, depth: number = 0): CompilerOptions {
  if (!existsSync(file) || depth > 9) return {}
  const { extends: bases = [], compilerOptions: own } = parsed(file) as {
    readonly extends?: string | readonly string[]
    readonly compilerOptions?: CompilerOptions
  }
  const inherited = [bases].flat().map((base) => {
    const path = resolve(dirname(file), base)
    return compilerOptions(existsSync(path) ? path : `${path}.json`, depth + 1)
  })
  return Object.assign({}, ...inherited, own) as CompilerOptions
}

const COMMENT = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g
const LAST_COMMA = /"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g

/** JSON, or what tsconfig.json may have besides: comments, and commas before a bracket. Neither pattern looks into a text. */
function parsed(file: string): unknown {
  try {
    return JSON.parse(without(LAST_COMMA, without(COMMENT, readFileSync(file, 'utf8'))))
  } catch (cause) {
    throw misuse(`${file}: expected JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

function without(pattern: RegExp, text: string): string {
  return text.replaceAll(pattern, (found) => (found.startsWith('"') ? found : ''))
}

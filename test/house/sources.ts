/** The sources as the house rules see them: parsed once, with what each file imports, exports, throws and how long its functions are. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor, type ParseResult } from 'oxc-parser'

export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Import {
  /** As written: `./a.ts`, `zod/mini`, `node:fs`. */
  readonly specifier: string
  /** The file of our own tree that it names, from the root. */
  readonly target: string | undefined
  /** What is taken from it; `*` where that cannot be told. */
  readonly names: readonly string[]
  /** Gone when the program runs. */
  readonly typeOnly: boolean
}

export interface LongestFunction {
  readonly name: string
  readonly lines: number
}

export interface Source {
  /** From the root. */
  readonly file: string
  readonly text: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly exports: readonly { readonly name: string; readonly typeOnly: boolean }[]
  readonly functions: readonly LongestFunction[]
  /** How often each name stands in the code. */
  readonly mentions: ReadonlyMap<string, number>
  /** Codes of `fail('code', …)`, both of `fail(one ? 'a' : 'b', …)`. */
  readonly failures: readonly string[]
  /** There is nothing to run in it. */
  readonly typesOnly: boolean
  /** Expressions of the form `a.b`, as in `process.env`; chains up to their second member. */
  readonly members: ReadonlySet<string>
  /** Classes that are made without an argument, as in `new Date()`. */
  readonly madeEmpty: ReadonlySet<string>
}

type Node = { readonly type: string; readonly start: number; readonly end: number }
/** Any node of the tree, looked into by name; what is not there is undefined. */
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any

const nameOf = (node: Any): string | undefined =>
  node?.name ?? (typeof node?.value === 'string' ? node.value : undefined)

/** The texts an expression may be: of a literal, or of both sides of a choice. */
const textsOf = (node: Any): string[] =>
  node?.type === 'ConditionalExpression'
    ? [...textsOf(node.consequent), ...textsOf(node.alternate)]
    : typeof node?.value === 'string'
      ? [node.value]
      : []

/** What is taken from `await import('…')` by what stands around it. */
const takenBy = (around: Any): readonly string[] | undefined => {
  if (around?.type === 'MemberExpression') return around.computed ? undefined : [around.property.name]
  if (around?.type !== 'VariableDeclarator' || around.id.type !== 'ObjectPattern') return undefined
  return around.id.properties.map((property: Any) => nameOf(property.key) ?? '*')
}

/** Collects what is asked of one file while its tree is walked. */
const collector = (text: string) => {
  const names = new Map<number, string>()
  const functions: LongestFunction[] = []
  const mentions = new Map<string, number>()
  const failures: string[] = []
  const members = new Set<string>()
  const madeEmpty = new Set<string>()
  const lazy: { specifier: string; names: readonly string[]; typeOnly: boolean }[] = []
  const taken = new Map<number, readonly string[]>()
  const linesOf = ({ start, end }: Node): number => text.slice(start, end).split('\n').length
  const called = (value: Any, key: Any): void => {
    const name = nameOf(key)
    if (value && name) names.set(value.start, name)
  }
  const awaited = (value: Any, around: Any): void => {
    const by = takenBy(around)
    if (value?.type === 'AwaitExpression' && by) taken.set(value.argument.start, by)
  }
  const measure = (node: Any): void =>
    void functions.push({ name: nameOf(node.id) ?? names.get(node.start) ?? 'a function', lines: linesOf(node) })
  const visitor = new Visitor({
    VariableDeclarator(node: Any) {
      called(node.init, node.id)
      awaited(node.init, node)
    },
    Property: (node: Any) => called(node.value, node.key),
    MethodDefinition: (node: Any) => called(node.value, node.key),
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
    Identifier: (node: Any) => void mentions.set(node.name, (mentions.get(node.name) ?? 0) + 1),
    NewExpression: (node: Any) => void (node.arguments.length === 0 && madeEmpty.add(nameOf(node.callee) ?? '')),
    MemberExpression(node: Any) {
      awaited(node.object, node)
      if (node.object.type === 'Identifier') members.add(`${node.object.name}.${nameOf(node.property) ?? '*'}`)
    },
    CallExpression(node: Any) {
      if (node.callee.name === 'fail') failures.push(...textsOf(node.arguments[0]))
    },
    ImportExpression(node: Any) {
      if (typeof node.source.value !== 'string')
        throw new Error(`import(${text.slice(node.source.start, node.source.end)})`)
      lazy.push({ specifier: node.source.value, names: taken.get(node.start) ?? ['*'], typeOnly: false })
    },
    TSImportType: (node: Any) =>
      void lazy.push({ specifier: node.source.value, names: [nameOf(node.qualifier) ?? '*'], typeOnly: true }),
  })
  return { visitor, functions, mentions, failures, members, madeEmpty, lazy }
}

const importedName = (entry: { importName: { kind: string; name?: string | null } }): string =>
  entry.importName.kind === 'Name'
    ? (entry.importName.name as string)
    : entry.importName.kind === 'Default'
      ? 'default'
      : '*'

const staticImports = ({ module }: ParseResult) => [
  ...module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    names: entries.map(importedName),
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
  })),
  ...module.staticExports.flatMap(({ entries }) =>
    entries
      .filter(({ moduleRequest }) => moduleRequest)
      .map(entry => ({
        specifier: entry.moduleRequest?.value as string,
        names: [importedName(entry)],
        typeOnly: entry.isType,
      })),
  ),
]

/** A statement that is gone when the program runs. */
const isType = (statement: Any): boolean =>
  /^TS(Interface|TypeAlias)Declaration$/.test((statement.declaration ?? statement).type) ||
  statement.importKind === 'type' ||
  statement.exportKind === 'type'

const sourceOf = (file: string): Source => {
  const text = readFileSync(join(root, file), 'utf8')
  const parsed = parseSync(file, text, { preserveParens: false })
  const [error] = parsed.errors
  if (error) throw new Error(`${file}: ${error.message}`)
  const { visitor, lazy, ...found } = collector(text)
  visitor.visit(parsed.program)
  const targetOf = (specifier: string) =>
    specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined
  return {
    file,
    text,
    lines: text.split('\n').length - 1,
    imports: [...staticImports(parsed), ...lazy].map(one => ({ ...one, target: targetOf(one.specifier) })),
    exports: parsed.module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ exportName, isType }) =>
        exportName.name ? [{ name: exportName.name, typeOnly: isType }] : [],
      ),
    ),
    typesOnly: parsed.program.body.every(isType),
    ...found,
  }
}

/** Every TypeScript file of the project but the tests. */
export const readSources = (): readonly Source[] =>
  globSync('{shared,daemon,control,images}/**/*.ts', { cwd: root, exclude: ['**/node_modules/**', '**/build/**'] })
    .toSorted()
    .map(sourceOf)

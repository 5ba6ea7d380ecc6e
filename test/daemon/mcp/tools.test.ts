/** The arguments and results that clients of these tools count on, and what each of them takes. */
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

const process =
  'pid name command status startedAt completedAt exitCode workingDir logs stdout stderr restartOnFailure maxRestarts restartCount keepAlive'
const file = 'path name permissions size lastModified owner group content'

/** `name: type`; `?` may be left out, and may then be null as well; `!` is null nowhere. */
const tools: Readonly<Record<string, readonly [input: string, output: string]>> = {
  processesList: ['', 'processes'],
  processExecute: [
    'command:string! name?:string workingDir?:string env?:object! waitForCompletion?:boolean timeout?:integer waitForPorts?:array restartOnFailure?:boolean maxRestarts?:integer keepAlive?:boolean',
    'pid name status exitCode logs? message? pollRequired?',
  ],
  processGet: [
    'identifier:string!',
    `${process} stdin? reason? signal? limit? peakMemoryBytes? error? checkpoint? outputIncomplete?`,
  ],
  processGetLogs: ['identifier:string!', 'logs'],
  processStop: ['identifier:string!', 'status'],
  processKill: ['identifier:string!', 'status'],
  fsGetWorkingDirectory: ['', 'path'],
  fsListDirectory: ['path:string!', 'directory'],
  fsReadFile: ['path:string!', `${file} escapedName?`],
  fsWriteFile: ['path:string! content?:string permissions?:string isDirectory?:boolean', 'path message'],
  fsEditFile: ['path:string! oldString:string! newString:string! replaceAll?:boolean', 'path occurrencesReplaced'],
  fsDeleteFileOrDirectory: ['path:string! isDirectory?:boolean recursive?:boolean', 'path message'],
  codegenFileSearch: ['query:string! directory?:string', 'success matches query'],
  codegenCodebaseSearch: ['query:string! targetDirectories?:array', 'success results query'],
  codegenGrepSearch: [
    'query:string! caseSensitive?:boolean includePattern?:string excludePattern?:string',
    'success results',
  ],
  codegenReadFileRange: [
    'targetFile:string! startLineOneIndexed:integer! endLineOneIndexedInclusive:integer!',
    'success content file',
  ],
  codegenReapply: ['targetFile:string!', 'success message?'],
  codegenListDir: ['relativeWorkspacePath:string!', 'success directory?'],
  codegenParallelApply: ['editPlan:string! editRegions:array', 'success message?'],
  codegenEditFile: [
    'targetFile:string! instructions:string! codeEdit:string!',
    'success message? filePath? changesApplied?',
  ],
  codegenRerank: [
    'path:string! query:string! scoreThreshold?:number tokenLimit?:integer filePattern?:string',
    'success message? files',
  ],
}

const readOnly =
  /^(processesList|processGet|processGetLogs|fsGetWorkingDirectory|fsListDirectory|fsReadFile|codegen(\w+Search|ReadFileRange|ListDir|Rerank))$/

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

const typesOf = ({ type, anyOf }: Schema): string[] => (anyOf ? anyOf.flatMap(typesOf) : type ? [type] : [])

const sorted = (words: readonly string[]): string => words.toSorted().join(' ')

/** The properties of a schema in the words of the table above. */
const wordsOf = ({ properties = {}, required = [] }: Schema, typed: boolean): string =>
  sorted(
    Object.entries(properties).map(([name, schema]) => {
      const types = typesOf(schema)
      const [type] = types.filter(one => one !== 'null')
      const left = `${name}${required.includes(name) ? '' : '?'}`
      return typed ? `${left}:${type}` : left
    }),
  )

t.test('arguments and results are these', async t => {
  const { call } = await daemon(t, { env: { MORPH_API_KEY: 'key' } })
  const headers = { 'content-type': 'application/json', accept: '*/*' }
  const { body } = await call('POST', '/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })
  const listed = body.result.tools as {
    name: string
    inputSchema: Schema
    outputSchema: Schema
    annotations?: { readOnlyHint?: boolean }
  }[]
  t.same(
    listed.map(({ name }) => name),
    Object.keys(tools).toSorted(),
  )
  for (const { name, inputSchema, outputSchema, annotations } of listed) {
    const [input, output] = tools[name] as readonly [string, string]
    t.equal(
      wordsOf(inputSchema, true),
      sorted(input.replaceAll('!', '').split(' ').filter(Boolean)),
      `${name}: arguments`,
    )
    const shown = JSON.stringify(inputSchema)
    t.notMatch(shown, /"null"|maxLength|9007199254740991|"examples"/, `${name}: nothing that only costs`)
    for (const [argument, { description }] of Object.entries(inputSchema.properties ?? {}))
      t.ok(description, `${name}: ${argument} says what it is`)
    t.equal(wordsOf(outputSchema, false), sorted(output.split(' ')), `${name}: result`)
    t.equal(annotations?.readOnlyHint ?? false, readOnly.test(name), `${name}: whether it only reads`)
    t.equal(inputSchema.additionalProperties, false, `${name}: nothing else`)
  }
})

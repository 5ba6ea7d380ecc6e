/** Searching and editing code as tools. Paths are taken as given; relative ones begin in the working directory. */
import { fail } from '../../shared/errors.ts'
import { s } from '../../shared/schema.ts'
import { directoryShape } from '../../shared/wire/file-shapes.ts'
import type { Files } from '../filesystem/files.ts'
import { tool, type Tool } from '../mcp/tool.ts'
import { searchCodebase } from './codebase-search.ts'
import { createEdits, type Edits } from './edits.ts'
import { directoryInside, searchFiles } from './file-search.ts'
import { grep } from './grep.ts'
import { pathIn } from './path-in.ts'
import { providerTools } from './provider-tools.ts'
import type { Provider } from './provider.ts'
import { readRange } from './read-range.ts'

interface CodegenToolDeps {
  readonly files: Files
  readonly workdir: string
  readonly provider: Provider | undefined
}

const required = s.string().check(s.minLength(1, 'is required'))
const outcome = s.object({ success: s.boolean(), message: s.optional(s.string()) })

const searchTools = ({ files, workdir }: CodegenToolDeps): Tool[] => [
  tool({
    name: 'codegenFileSearch',
    readOnly: true,
    description: 'Find files whose name has the letters of the query in that order. At most 10.',
    about: {
      query: 'Letters of the name, in order; case does not matter',
      directory: 'Where to look, below the working directory',
    },
    input: s.strictObject({ query: required, directory: s.nullish(s.string()) }),
    output: s.object({ success: s.boolean(), matches: s.nullable(s.array(s.string())), query: s.string() }),
    async run({ query, directory }, { signal }) {
      const asked = { query, directory: directory || undefined }
      return { success: true, matches: await searchFiles({ port: files.port, workdir }, asked, signal), query }
    },
  }),
  tool({
    name: 'codegenCodebaseSearch',
    readOnly: true,
    description: 'Find the places of the code base that a question is about, by its words. At most 20.',
    about: {
      query: 'A question, or words',
      targetDirectories: 'Where to look, below the working directory',
    },
    input: s.strictObject({ query: required, targetDirectories: s.nullish(s.array(s.string())) }),
    output: s.object({ success: s.boolean(), results: s.array(s.string()), query: s.string() }),
    async run({ query, targetDirectories }, { signal }) {
      const asked = targetDirectories?.length ? targetDirectories : ['.']
      const directories = await Promise.all(asked.map(one => directoryInside(files.port, workdir, one)))
      return { success: true, results: await searchCodebase(files.port, { query, directories }, signal), query }
    },
  }),
  tool({
    name: 'codegenGrepSearch',
    readOnly: true,
    description: 'Search file contents with a regular expression. Answers JSON lines as `rg --json` does.',
    about: {
      query: 'A regular expression as ripgrep reads it',
      includePattern: 'Only files of this glob',
      excludePattern: 'No files of this glob',
    },
    input: s.strictObject({
      query: required,
      caseSensitive: s.nullish(s.boolean()),
      includePattern: s.nullish(s.string()),
      excludePattern: s.nullish(s.string()),
    }),
    output: s.object({ success: s.boolean(), results: s.string() }),
    async run({ query, caseSensitive, includePattern, excludePattern }, { signal }) {
      const request = {
        query,
        caseSensitive: caseSensitive ?? false,
        includePattern: includePattern || undefined,
        excludePattern: excludePattern || undefined,
      }
      return { success: true, results: await grep({ port: files.port, root: workdir }, request, signal) }
    },
  }),
]

const readTools = ({ files, workdir }: CodegenToolDeps): Tool[] => [
  tool({
    name: 'codegenReadFileRange',
    readOnly: true,
    description: 'Read lines of a file, counted from 1, both ends included.',
    about: {
      targetFile: 'Absolute, or relative to the working directory',
    },
    input: s.strictObject({
      targetFile: required,
      startLineOneIndexed: s.int(),
      endLineOneIndexedInclusive: s.int(),
    }),
    output: s.object({ success: s.boolean(), content: s.string(), file: s.string() }),
    async run({ targetFile, startLineOneIndexed: start, endLineOneIndexedInclusive: end }) {
      const path = pathIn(workdir, 'targetFile', targetFile)
      return { success: true, content: await readRange(files.port, path, start, end), file: targetFile }
    },
  }),
  tool({
    name: 'codegenListDir',
    readOnly: true,
    description: 'List one level of a directory of the workspace.',
    about: {
      relativeWorkspacePath: 'Absolute, or relative to the working directory',
    },
    input: s.strictObject({ relativeWorkspacePath: s.string() }),
    output: s.object({ success: s.boolean(), directory: s.optional(directoryShape) }),
    async run({ relativeWorkspacePath: given }) {
      const directory = await files.read(pathIn(workdir, 'relativeWorkspacePath', given), given)
      if (!('files' in directory))
        throw fail('invalid_argument', { field: 'relativeWorkspacePath', reason: `${given} is not a directory` })
      return { success: true, directory }
    },
  }),
]

const unconfigured = {
  success: false,
  message: 'not available: start the sandbox with RELACE_API_KEY or MORPH_API_KEY',
}

const planTools = ({ workdir }: CodegenToolDeps, edits: Edits | undefined): Tool[] => [
  tool({
    name: 'codegenReapply',
    description: 'Merge the last edit of a file once more, when the first result was not what was meant.',
    about: {
      targetFile: 'Absolute, or relative to the working directory',
    },
    input: s.strictObject({ targetFile: required }),
    output: outcome,
    run: ({ targetFile }, { signal }) =>
      edits ? edits.reapply(pathIn(workdir, 'targetFile', targetFile), signal) : unconfigured,
  }),
  tool({
    name: 'codegenParallelApply',
    description: 'Carry one plan out in many files at once.',
    about: {
      editPlan: 'What is to be done, in words or code',
      editRegions: 'Files, and the lines of them that may change',
    },
    input: s.strictObject({
      editPlan: required,
      editRegions: s.nullable(
        s.array(
          s.strictObject({
            relativeWorkspacePath: required,
            startLine: s.nullish(s.int()),
            endLine: s.nullish(s.int()),
          }),
        ),
      ),
    }),
    output: outcome,
    run({ editPlan, editRegions }, { signal }) {
      if (!edits) return unconfigured
      const regions = (editRegions ?? []).map(({ relativeWorkspacePath, startLine, endLine }) => ({
        path: pathIn(workdir, 'relativeWorkspacePath', relativeWorkspacePath),
        startLine: startLine ?? undefined,
        endLine: endLine ?? undefined,
      }))
      return edits.applyPlan(editPlan, regions, signal)
    },
  }),
]

/** The tools of this capability; the last two only where a provider is configured. */
export const codegenTools = (deps: CodegenToolDeps): Tool[] => {
  const { files, provider } = deps
  const edits = provider && createEdits({ files, provider })
  return [
    ...searchTools(deps),
    ...readTools(deps),
    ...planTools(deps, edits),
    ...(provider && edits ? providerTools({ ...deps, provider, edits }) : []),
  ]
}

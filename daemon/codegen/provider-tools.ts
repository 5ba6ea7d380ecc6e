import { s } from '../../shared/schema.ts'
import { rankedFile } from '../../shared/wire/codegen.ts'
import { tool, type Tool } from '../mcp/tool.ts'
import type { Files } from '../filesystem/files.ts'
import type { Edits } from './edits.ts'
import type { Provider } from './provider.ts'
import { rerank } from './rerank.ts'
import { pathIn } from './path-in.ts'

const required = s.string().check(s.minLength(1, 'is required'))

/** Tools that need a provider. */
export const providerTools = (deps: { files: Files; workdir: string; provider: Provider; edits: Edits }): Tool[] => {
  const { files, workdir, provider, edits } = deps
  return [
    tool({
      name: 'codegenEditFile',
      description: 'Merge an abbreviated edit into a file; unchanged parts may be left out.',
      about: {
        targetFile: 'Absolute, or relative to the working directory',
        instructions: 'What the edit does, in a sentence',
        codeEdit: 'The changed lines, with comments in place of what stays',
      },
      input: s.strictObject({ targetFile: required, instructions: s.string(), codeEdit: required }),
      output: s.object({
        success: s.boolean(),
        message: s.optional(s.string()),
        filePath: s.optional(s.string()),
        changesApplied: s.optional(s.string()),
      }),
      async run({ targetFile, instructions, codeEdit }, { signal }) {
        await edits.edit(pathIn(workdir, 'targetFile', targetFile), codeEdit, signal)
        return { success: true, message: 'Edit applied', filePath: targetFile, changesApplied: instructions }
      },
    }),
    tool({
      name: 'codegenRerank',
      readOnly: true,
      description: 'Rank the files below a directory by how much they matter for a question.',
      about: {
        path: 'The directory to look in',
        query: 'A question',
        scoreThreshold: 'Leave out files that score less, of 1',
        tokenLimit: 'How much of the files to look at',
        filePattern: 'Only files whose name matches this regular expression',
      },
      input: s.strictObject({
        path: required,
        query: required,
        scoreThreshold: s.nullish(s.number()),
        tokenLimit: s.nullish(s.int()),
        filePattern: s.nullish(s.string()),
      }),
      output: s.object({ success: s.boolean(), message: s.optional(s.string()), files: s.array(rankedFile) }),
      async run({ path, query, scoreThreshold, tokenLimit, filePattern }, { signal }) {
        const request = {
          path: pathIn(workdir, 'path', path),
          query,
          scoreThreshold: scoreThreshold || undefined,
          tokenLimit: tokenLimit || undefined,
          filePattern: filePattern || undefined,
        }
        const found = await rerank({ port: files.port, provider }, request, signal)
        return { success: true, message: `${found.length} files matter for the query`, files: found }
      },
    }),
  ]
}

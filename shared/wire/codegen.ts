/** Edits by a model that merges snippets, and files ranked by a model. */
import { route } from '../route.ts'
import { intText, s, text } from '../schema.ts'

const params = s.object({ path: s.string() })

/** A decimal number carried as text within [min, max]; absent, empty or 0 is undefined. */
const numberText = (min: number, max: number) =>
  s.pipe(
    s
      .optional(s.string())
      .check(
        s.refine(
          value => !value || (/^\d{1,9}(\.\d{1,9})?$/.test(value) && Number(value) >= min && Number(value) <= max),
          `must be a number between ${min} and ${max}`,
        ),
      ),
    s.transform((value: string | undefined) => Number(value) || undefined),
  )

export const fastApply = route('PUT /codegen/fastapply/*path', {
  id: 'codegen.fastapply',
  summary: 'Merges an abbreviated edit into a file with the configured model',
  params,
  body: s.object({
    codeEdit: text(16 * 1024 * 1024).check(s.minLength(1, 'is required')),
    model: s.nullish(text(256)),
  }),
  returns: s.object({
    success: s.boolean(),
    path: s.string(),
    originalContent: s.string(),
    updatedContent: s.string(),
    provider: s.enum(['relace', 'morphllm']),
    message: s.string(),
  }),
  errors: ['invalid_argument', 'invalid_body', 'unprocessable'],
})

export const rankedFile = s.object({ path: s.string(), content: s.string(), score: s.number() })

export const reranking = route('GET /codegen/reranking/*path', {
  id: 'codegen.reranking',
  summary: 'Files below a directory that matter for a question, best first',
  params,
  query: s.object({
    query: text(65_536).check(s.minLength(1, 'is required')),
    scoreThreshold: numberText(0, 1),
    tokenLimit: intText(0, 100_000_000),
    filePattern: s.optional(text(1_000)),
  }),
  returns: s.object({ success: s.boolean(), files: s.array(rankedFile), message: s.string() }),
  errors: ['invalid_argument', 'unprocessable'],
})

/**
 * Commands of a page that can be run as they stand: behind each, as comments, stands what it prints. A comment after an empty line is for
 * the reader. docs/tour.md is such a page, and so is the README's section of HTTP and MCP.
 */
import { matches } from './page.ts'

export interface TourStep {
  readonly script: string
  /** What the page says that it prints, or undefined. */
  readonly says: string | undefined
}

/** The page below docs/ that shows the whole path. */
export const tourPage = 'tour.md'

/** The README's part of it. */
export const sectionOf = (readme: string): string => {
  const [, rest = ''] = readme.split('\n## The same by HTTP and MCP\n')
  return rest.split('\n## ')[0] as string
}

const linesOf = (block: string): TourStep[] => {
  const steps: { script: string; says: string[] }[] = []
  let isOutput = false
  for (const line of block.split('\n')) {
    const isComment = line.startsWith('# ')
    const current = steps.at(-1)
    isOutput = isComment && current !== undefined && (isOutput || current.script !== '') && line !== ''
    if (isOutput) current?.says.push(line.slice(2))
    else if (line === '' || isComment) steps.push({ script: '', says: [] })
    else if (current && current.says.length === 0) current.script += `${line}\n`
    else steps.push({ script: `${line}\n`, says: [] })
  }
  return steps
    .filter(({ script }) => script !== '')
    .map(({ script, says }) => ({ script, says: says.length > 0 ? says.join('\n') : undefined }))
}

/** How the tour starts its server, and what that says. */
export const startOf = (page: string): { script: string; says: string } => {
  const [, script = '', says = ''] = /```sh\n(make run)[^\n]*\n```\n\n```\n([^]*?)\n```/.exec(page) ?? []
  if (!script) throw new Error('the page does not say how its tour begins')
  return { script, says }
}

/** What a reader pastes into another shell, in its order. */
export const tourOf = (page: string): TourStep[] =>
  [...page.matchAll(/```sh\n([^]*?)\n```/g)]
    .map(([, block]) => block as string)
    .filter(block => !block.startsWith('make run'))
    .flatMap(linesOf)

/** Times and sums differ from run to run. */
const withoutFractions = (text: string): string => text.replace(/(?<![\d.])\d+\.\d+(?:e-?\d+)?(?![\d.])/g, '<n>')

/** Whether it printed what the page says. */
export const printsAsSaid = (says: string, printed: string): boolean =>
  matches(withoutFractions(says), withoutFractions(printed))

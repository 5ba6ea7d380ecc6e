/** Versions of a volume template, as its record remembers them. */
import type { Resource } from '../../store/store.ts'

export interface Version {
  /** Label: a number that grows, or what the uploader has chosen. */
  readonly name: string
  /** Names its directory. */
  readonly id: string
  /** Bytes of its files. */
  readonly contentSize: number
  /** The smallest volume that holds it, MB. */
  readonly leastMb: number
  /** ISO 8601. */
  readonly uploadedAt: string
}

export interface TemplateState {
  /** Oldest first. */
  readonly versions: readonly Version[]
  /** Why the last upload was refused, when it was. */
  readonly failed?: string
  /** Numbers are given once. */
  readonly counted?: number
}

export const templateState = ({ internal }: Pick<Resource, 'internal'>): TemplateState => ({
  versions: [],
  ...(internal['template'] as Partial<TemplateState> | undefined),
})

/** So many are kept; an upload beyond them takes the place of the oldest. */
const keptVersions = 10

/** With one more, or another one of its name. */
export const withVersion = (before: TemplateState, version: Version, counted: number): TemplateState => ({
  versions: [...before.versions.filter(({ name }) => name !== version.name), version].slice(-keptVersions),
  counted,
})

/** The version that a label leads to; `latest` is the last that was uploaded. */
export const versionOf = ({ versions }: TemplateState, name: string): Version | undefined =>
  name === 'latest' ? versions.at(-1) : versions.find(version => version.name === name)

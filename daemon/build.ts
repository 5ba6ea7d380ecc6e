/** Which build this is. The bundler replaces `HUTCH_BUILD`; sources have none. */
declare const HUTCH_BUILD: BuildInfo | undefined

export interface BuildInfo {
  readonly version: string
  readonly gitCommit: string
  readonly buildTime: string
}

export const buildInfo: BuildInfo =
  typeof HUTCH_BUILD === 'undefined' ? { version: 'dev', gitCommit: 'unknown', buildTime: 'unknown' } : HUTCH_BUILD

/** For the environment of a program of ours that starts with one of its own: with it the program counts where coverage is measured. */
export const coverageEnvironment: Record<string, string> = process.env['NODE_V8_COVERAGE']
  ? { NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'] }
  : {}

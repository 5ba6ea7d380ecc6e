/** Preloaded where coverage is measured: writes on SIGUSR2 what V8 has counted so far, for a process that is then killed. */
import { takeCoverage } from 'node:v8'

process.on('SIGUSR2', takeCoverage)

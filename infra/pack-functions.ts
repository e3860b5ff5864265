import { argv } from 'node:process';
import { FUNCTIONS, packFunction } from './constructs/bundling.ts';

// Packs every function into a folder of its own, for the published package: whoever deploys that one needs no esbuild.
const [, , folder = 'dist/packed'] = argv;
for (const name of FUNCTIONS) packFunction(name, `${folder}/${name}`);

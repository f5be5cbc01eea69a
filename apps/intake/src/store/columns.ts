export { type Column, columnValues, unnestColumns } from '#runtime';

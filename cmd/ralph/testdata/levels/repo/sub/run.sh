#!/bin/sh
exec grep -q good mode.txt

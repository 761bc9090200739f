```sh
echo hi
```
docker run --rm --gpus all --env CUDA_VISIBLE_DEVICES=0 train python train.py
